"""The decisions of a partition, as a part of its state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Self

from perceptron_core.logistic import logistic
from service.messages.labels import Truth
from service.partition.decisions.bins import COST, FALSE_POSITIVES, NEVER
from service.partition.decisions.bound import is_surely
from service.partition.decisions.decider import FIXED, Decider, Rule
from service.partition.part import Figure, Part
from service.settings.decisions import DecisionSettings, goal_of

_DECISIONS = "Predictions with a decision, by decision."
_PRECISION = "Share of decided events whose label was of the class, older labels discounted."
_THRESHOLD = "Threshold of a decision; absent while too few labels are known."
_COST = "What decisions cost that labels said to be wrong."

DECISIONS: Final = "decisions"
"""What a model file calls the rules that are kept with the model."""
_OF_A_RULE: Final = ("name", "goal", "level", "truth", "threshold", "needs_class")


class Decisions(Part):
    """The decisions that the settings describe.

    Parameters
    ----------
    decider
        Decides.

    """

    name = "decisions"
    counted: ClassVar[Mapping[str, str]] = {"decided": "Predictions with a decision."}

    def __init__(self, decider: Decider) -> None:
        super().__init__()
        self.decider = decider

    @classmethod
    def of(cls, settings: Any) -> Self | None:  # noqa: ANN401 - see Part
        """Make the decisions of the settings; None if there are none."""
        return cls(make_decider(settings)) if settings.decisions or settings.costs.are_given else None

    def state(self) -> dict[str, Any]:
        """Return the whole state as plain values."""
        return self.decider.state()

    def restore(self, state: Any) -> None:  # noqa: ANN401
        """Restore what `state` returned; None from a snapshot that was made without decisions."""
        if state is not None:
            self.decider.restore(state)

    def counts(self) -> Mapping[str, int]:
        """Return how many predictions have a decision, and what decisions cost, in whole numbers."""
        cost = {"cost": round(self.decider.cost)} if self.decider.cost_positive else {}
        return {"decided": self.decider.n_decided, **cost}

    @classmethod
    def counts_of(cls, state: Any) -> Mapping[str, int | None]:  # noqa: ANN401
        """Return the counts of a state."""
        added, taken_back = state["cost"]
        return {"decided": state["counts"][1]} | ({"cost": round(added - taken_back)} if added else {})

    @classmethod
    def undecided_of(cls, state: Mapping[str, Any]) -> Mapping[str, str]:
        """Return why decisions have no threshold, by name; of those in a partition's state that have none."""
        found = state.get(cls.name, {"bins": (), "rules": ()})
        rows = {truth: rest[-1] for truth, *rest in found["bins"]}
        reasons = {
            name: why_undecided(goal, level, threshold, rows[truth])
            for (name, goal, level, truth, *_), threshold, *_ in found["rules"]
        }
        return {name: why for name, why in reasons.items() if why is not None}

    @classmethod
    def is_younger(cls, state: Mapping[str, Any]) -> bool:
        """Return whether a partition of this state had no decisions at first: they were set later."""
        n_decided_on = state[cls.name]["counts"][0] if cls.name in state else 0
        return cls.name in state and n_decided_on != state["counters"]["predictions"]

    def summary(self, cells: Mapping[tuple[Truth, Truth], int]) -> dict[str, Any]:
        """Return what came of the decisions since the beginning, and what they cost.

        `cells` are the predictions by (truth, predicted): beside it stands what these would have cost.
        """
        decider = self.decider
        found: dict[str, Any] = {"decisions": {rule.name: self.came_of(rule) for rule in decider.rules}}
        if decider.cost_positive:
            found["cost"] = decider.cost
            found["cost_of_labels"] = decider.cost_positive * cells.get((False, True), 0)
            found["cost_of_labels"] += decider.cost_negative * cells.get((True, False), 0)
        return found

    def rows(self) -> list[tuple[Truth, dict[str, float | None]]]:
        """Return what deciding at each threshold would have come to, of recent labels, by class."""
        decider = self.decider
        days = decider.days()
        per_day = decider.n_predictions / days if days else None
        return [
            (
                bins.truth,
                {
                    "threshold": logistic(row.threshold) if decider.has_log_odds else row.threshold,
                    "precision": row.precision,
                    "recall": row.recall,
                    "false_positive_rate": row.false_positive_rate,
                    "decided_per_day": per_day and row.decided_ratio * per_day,
                },
            )
            for bins in decider.bins.values()
            for row in bins.rows()
        ]

    def came_of(self, rule: Rule) -> dict[str, Any]:
        """Return what came of a decision since the beginning."""
        bins, n_wrong = self.decider.bins[rule.truth], rule.n_labelled - rule.n_right
        return {
            "decided": rule.n_decided,
            "labelled": rule.n_labelled,
            "precision": rule.n_right / rule.n_labelled if rule.n_labelled else None,
            "recall": rule.n_right / bins.n_of_class if bins.n_of_class else None,
            "false_positive_rate": n_wrong / bins.n_others if bins.n_others else None,
            "threshold": rule.shown,
            "undecided": why_undecided(rule.goal, rule.level, rule.threshold, bins.state()[-1]),
        }

    def would_decide(self, predicted: Truth, score: float, timestamp_ms: int) -> dict[str, Any]:
        """Return the fields of a prediction that the stream would write now; no budget is used."""
        rule = self.decider.find(predicted, score, timestamp_ms, False)  # noqa: FBT003
        if rule is None:
            return {"decision": None}
        return {"decision": rule.name} | ({} if rule.shown is None else {"threshold": rule.shown})

    def figures(self) -> Sequence[Figure]:
        """Return how often decisions were taken, how often rightly, at what thresholds, and their cost."""
        rules = self.decider.rules
        found = [
            Figure("decisions", _DECISIONS, {rule.name: rule.n_decided for rule in rules}, "decision"),
            Figure(
                "decision_precision_ratio",
                _PRECISION,
                {rule.name: recent_precision(rule) for rule in rules},
                "decision",
                is_gauge=True,
            ),
            Figure(
                "decision_threshold",
                _THRESHOLD,
                {rule.name: rule.shown for rule in rules},
                "decision",
                is_gauge=True,
            ),
        ]
        if self.decider.cost_positive:
            found.append(Figure("cost", _COST, self.decider.cost_added))
        return found


def why_undecided(goal: int, level: float, threshold: float, rows: Any) -> str | None:  # noqa: ANN401 - of a state
    """Return why a decision has no threshold: too few labels for its bound, or none that keeps it."""
    if threshold < NEVER or goal == FIXED:
        return None
    n_of_class, n_others = (sum(row[side] for row in rows) for side in (1, 2))
    is_about_others = goal == FALSE_POSITIVES
    n, share = (n_others, 1.0 - level) if is_about_others else (n_of_class, level)
    if goal == COST or is_surely(n, n, share):
        return "no threshold is good enough yet"
    return f"too few labels of {'other classes' if is_about_others else 'the class'} yet"


def recent_precision(rule: Rule) -> float | None:
    """Return the share of a decision's labelled events that were of its class, older ones discounted."""
    return rule.recent_right / rule.recent_labelled if rule.recent_labelled else None


def kept_rules(parts: Iterable[Part]) -> dict[str, Any]:
    """Return the decisions among a partition's parts as a model file keeps them; nothing without any."""
    rules = [rule for part in parts if isinstance(part, Decisions) for rule in part.decider.rules]
    kept = [{name: getattr(rule, name) for name in _OF_A_RULE} for rule in rules]
    for each in kept:
        each["threshold"] = None if each["threshold"] == NEVER else each["threshold"]
    return {DECISIONS: kept} if kept else {}


def decisions_of(kept: Iterable[Mapping[str, Any]], *, has_log_odds: bool) -> Decisions:
    """Make the decisions that `kept_rules` returned; a budget is never used up.

    Raises
    ------
    ValueError
        They are none.

    """
    rules = []
    try:
        for each in kept:
            rule = Rule(*(each[name] for name in _OF_A_RULE[:4]))
            rule.needs_class = each["needs_class"]
            threshold = NEVER if each["threshold"] is None else each["threshold"]
            rule.set_threshold(threshold, has_log_odds=has_log_odds)
            rules.append(rule)
    except (ArithmeticError, LookupError, TypeError) as error:
        raise ValueError(f"the decisions kept with the model are no rules: {error!r}") from None
    return Decisions(Decider(rules, 1.0))


def make_decider(settings: Any) -> Decider:  # noqa: ANN401 - see Part
    """Make what decides as the settings describe it; with costs alone, what they call for is `positive`."""
    given = settings.decisions or (DecisionSettings("positive"),)
    rules = [Rule(each.name, *goal_of(each, settings.classes)) for each in given]
    costs = settings.costs.false_positive, settings.costs.false_negative
    return Decider(rules, settings.decisions_half_life, costs)
