"""Decisions: which events to act on, at thresholds that are found from earlier labelled predictions.

The state is a function of the predictions and labels in their order, and of event times. `decisions.pxd`
gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from pydantic_core import to_json

from perceptron_core.elementary import exp, log, logistic
from service.messages.decoder import Incoming
from service.messages.labels import TrueLabel
from service.partition.parts.part import Part, PartMetric
from service.partition.parts.thresholds import (
    COST,
    FALSE_POSITIVES,
    NEVER,
    PRECISION,
    Budget,
    ClassBins,
    why_undecided,
)
from service.settings.parts import DecisionSettings, goal_of, spell_goal

if TYPE_CHECKING:
    from service.partition.examples import Example

_EVERY: Final = 100
"""Labels between two searches for thresholds."""
UNDECIDED: Final = b',"decision":null'
_LOG_2: Final = 0.6931471805599453
_LEARNED: Final = COST
"""The last of the goals whose threshold is found in bins."""
FIXED, BUDGET = COST + 1, COST + 2
"""Goals without a search in bins: a given threshold, and a budget of the highest scores of each period."""
_MAX_FLOAT: Final = 1.7976931348623157e308
_DRIFTED: Final = 5.0
"""Log-likelihood ratio that signals a drift: of twice as many wrong decisions as the goal allows."""
_AFTER_DRIFT: Final = 0.1
"""Factor of the weight of labels from before a drift."""
_MAX_COST: Final = 1e18
"""The largest count that a progress record may hold."""

_DECISIONS = "Predictions with a decision, by decision."
_LABELLED = "Predictions with a decision whose label is known, by decision."
_PRECISION = "Share of decided events whose label was of the class, since the beginning."
_EXHAUSTED = "1 if the decisions of the present period are used up, else 0."
_THRESHOLD = "Threshold of a decision; absent while too few labels are known."
_COST = "Cost of decisions that labels showed to be wrong."

DECISIONS: Final = "decisions"
"""Key of the rules in a model file."""
_OF_A_RULE: Final = ("name", "goal", "level", "truth", "threshold")


class Rule:
    """A decision: its threshold, and the counts of its results.

    Parameters
    ----------
    name
        The name of the decision in predictions.
    goal, level
        The goal of its threshold, and its level; with `FIXED`, the level is the threshold.
    truth
        The class that the decision is about.
    confidence
        The confidence that the threshold found meets the level, 0.5-1.
    rate
        With `BUDGET`: the largest number of decisions in a period, and the period in milliseconds.

    Attributes
    ----------
    threshold : float
        The lowest score of the class at which it is taken; `NEVER` while no threshold is known.
    written : bytes
        The fields that it adds to a prediction.
    n_decided, n_labelled, n_right : int
        Events decided; of these, events labelled since; of these, events of the class.
    spent : Budget | None
        The state of a `BUDGET`.

    """

    def __init__(
        self,
        name: str,
        goal: int,
        level: float,
        truth: TrueLabel,
        confidence: float = 0.8,
        rate: Sequence[int] = (0, 0),
    ) -> None:
        self.name, self.goal, self.level, self.truth = name, goal, level, truth
        self.confidence, (self.budget, self.period_ms) = confidence, rate
        self.spent = Budget(self.budget, self.period_ms) if self.period_ms else None
        self.n_decided = self.n_labelled = self.n_right = 0
        self.threshold = 0.0 if goal == COST else NEVER
        self.written = UNDECIDED
        self.shown: float | None = None
        """The threshold as users see it: a probability where the scores are log-odds."""
        self._has_log_odds = False
        self._evidence = 0.0
        allowed = {PRECISION: 1.0 - level, FALSE_POSITIVES: level}.get(goal, 0.5)
        twice = min(2.0 * allowed, (1.0 + allowed) / 2.0)
        self._if_wrong, self._if_right = log(twice / allowed), log((1.0 - twice) / (1.0 - allowed))

    def has_budget(self, score: float, timestamp_ms: int, takes: bool) -> bool:  # noqa: FBT001 - compiled, there are no keywords
        """Return whether its budget has a decision left for this score; use it if `takes`."""
        spent = self.spent
        assert spent is not None
        if not takes:
            return spent.n_left(timestamp_ms) > 0 and score >= spent.threshold
        if spent.advance(timestamp_ms):
            self._update_shown_threshold()
        return spent.decide(score)

    def detect_drift(self, is_of_class: bool, is_decided: bool) -> bool:  # noqa: FBT001 - compiled, there are no keywords
        """Take a label; return whether the decisions are significantly more often wrong than the goal allows.

        The test is a cumulative sum of log-likelihood ratios (Page, 1954).
        """
        if self.goal == PRECISION and is_decided:
            is_wrong = not is_of_class
        elif self.goal == FALSE_POSITIVES and not is_of_class and self.threshold < NEVER:
            is_wrong = is_decided
        else:
            return False
        self._evidence = max(0.0, self._evidence + (self._if_wrong if is_wrong else self._if_right))
        if self._evidence < _DRIFTED:
            return False
        self._evidence = 0.0
        return True

    def set_threshold(self, threshold: float, *, has_log_odds: bool) -> None:
        """Set the threshold; for a budget, its lower bound."""
        self.threshold, self._has_log_odds = threshold, has_log_odds
        self._update_shown_threshold()

    def lowest_score(self) -> float:
        """Return the lowest score at which the decision is taken now."""
        return self.threshold if self.spent is None else max(self.threshold, self.spent.threshold)

    def goal_text(self) -> str:
        """Return the goal as in the settings."""
        return spell_goal(self.goal, self.level, self.budget, self.period_ms)

    def precision(self) -> float | None:
        """Return the share of its labelled events that are of its class."""
        return float(self.n_right) / float(self.n_labelled) if self.n_labelled else None

    def is_exhausted(self) -> bool | None:
        """Return whether its budget is used up; None without a budget."""
        return None if self.spent is None else self.spent.is_exhausted()

    def _update_shown_threshold(self) -> None:
        """Update the threshold as users see it."""
        least = self.lowest_score()
        self.shown = None
        if -_MAX_FLOAT < least < NEVER:
            self.shown = logistic(least) if self._has_log_odds else least
        if self.goal == FIXED:
            self.shown = self.level
        members = to_json(self.fields())
        self.written = b"," + members[1 : len(members) - 1]

    def fields(self) -> dict[str, Any]:
        """Return the fields that it adds to a prediction."""
        return {"decision": self.name} | ({} if self.shown is None else {"threshold": self.shown})

    def key(self) -> list[object]:
        """Return the parameters, which identify the decision in a state."""
        rate = self.budget, self.period_ms
        return [self.name, self.goal, self.level, self.truth, self.confidence, rate]

    def state(self) -> list[object]:
        """Return the parameters and counts as plain values."""
        counts = self.n_decided, self.n_labelled, self.n_right
        spent = None if self.spent is None else self.spent.state()
        return [self.key(), self.threshold, *counts, self._evidence, spent]

    def restore(self, state: Sequence[Any]) -> None:
        """Restore the counts; with the same parameters, except for a rate's number, also the rest."""
        (*of_goal, (_, period_ms)), threshold, self.n_decided, self.n_labelled, self.n_right, *rest = state
        evidence, spent = rest
        if not 0 <= self.n_right <= self.n_labelled:
            raise ValueError("decisions: impossible counts")
        if [*of_goal, (self.budget, period_ms)] == self.key():
            if threshold != threshold or not 0.0 <= evidence < _DRIFTED:  # noqa: PLR0124 - NaN
                raise ValueError("decisions: impossible threshold")
            self.threshold, self._evidence = threshold, evidence
            if self.spent is not None:
                self.spent.restore(spent)


class Decisions(Part):
    """The decisions of a partition.

    Parameters
    ----------
    rules
        The decisions; the first that matches is taken.
    half_life
        Number of labels after which the weight of a label has halved.
    costs
        Costs of a false positive and of a false negative; 0: no costs.

    Attributes
    ----------
    cost_added, cost_taken_back : float
        The cost of the wrong decisions, and the cost that corrections took back.
    first_ms, latest_ms : int
        First and last event time of the predictions.

    """

    name = "decisions"
    counted: ClassVar[Mapping[str, str]] = {"decided": "Predictions with a decision."}
    needs_events: ClassVar[bool] = False

    def __init__(
        self, rules: Sequence[Rule], half_life: float, costs: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        super().__init__()
        self.rules = list(rules)
        self.has_log_odds = False
        self.cost_added = self.cost_taken_back = 0.0
        self.cost_positive, self.cost_negative = costs
        self._named = {rule.name: rule for rule in self.rules}
        self.bins = {rule.truth: ClassBins(rule.truth) for rule in self.rules}
        self._rest: dict[str, ClassBins] = {}
        """For a precision after budgets, by decision: bins without the events that those took."""
        budgets: list[str] = []
        for rule in self.rules:
            if budgets and rule.goal == PRECISION:
                self._rest[rule.name] = ClassBins(rule.truth, budgets)
            budgets = budgets + [rule.name] * (rule.spent is not None)
        self._every = [*self.bins.values(), *self._rest.values()]
        self._of_rules = [self._rest.get(rule.name, self.bins[rule.truth]) for rule in self.rules]
        self._fading = exp(-_LOG_2 * _EVERY / half_life)
        self._n_since_search = 0
        self.n_predictions = self.n_decided = 0
        self.first_ms = self.latest_ms = 0

    @classmethod
    def of(cls, settings: Any) -> Self | None:  # noqa: ANN401 - see Part
        """Make the decisions of the settings; None without any. Costs without a decision make `positive`."""
        if not settings.decisions and not settings.costs.are_given:
            return None
        given = settings.decisions or (DecisionSettings(name="positive"),)
        rules = [Rule(each.name, *goal_of(each, settings.classes)) for each in given]
        costs = settings.costs.false_positive, settings.costs.false_negative
        return cls(rules, settings.decisions_half_life, costs)

    @classmethod
    def of_state(cls, state: Mapping[str, Any]) -> Self:
        """Restore the decisions of a partition's state; without any, there are no rules."""
        stored = state.get(cls.name, {"rules": ()})
        decisions = cls([Rule(*key) for key, *_ in stored["rules"]], half_life=NEVER)
        decisions.start(has_log_odds=False, is_calibrated=stored.get("calibrated", False))
        decisions.restore(state.get(cls.name))
        return decisions

    def start(self, *, has_log_odds: bool, is_calibrated: bool = False) -> None:
        """Set the given thresholds, for a learner whose scores are log-odds or not."""
        self.has_log_odds = has_log_odds
        for bins in self._every:
            bins.is_calibrated = is_calibrated
        for rule, bins in zip(self.rules, self._of_rules, strict=True):
            threshold = self._given(rule, bins)
            rule.set_threshold(rule.threshold if threshold is None else threshold, has_log_odds=has_log_odds)

    def _given(self, rule: Rule, bins: ClassBins) -> float | None:
        """Return the given threshold of a rule; None if it is found in bins."""
        by_cost = None
        if self.cost_positive and self.has_log_odds and bins.sign:
            by_cost = bins.sign * (log(self.cost_positive) - log(self.cost_negative))
        if rule.goal == FIXED:
            return _log_odds(rule.level) if self.has_log_odds else rule.level
        if rule.goal == BUDGET:
            return -_MAX_FLOAT if by_cost is None else by_cost
        return by_cost if rule.goal == COST and self.has_log_odds else None

    def on_event(self, example: Example, event: Incoming | None, timestamp_ms: int, is_new: bool) -> bytes:  # noqa: ARG002, FBT001 - see Part
        """Decide on a new event; the example stores the decision."""
        made = example
        rule = self.decide(made.predicted, made.score, timestamp_ms, is_new)
        made.decision = None if rule is None else rule.name
        return UNDECIDED if rule is None else rule.written

    def on_label(self, example: Example, before: TrueLabel | None, truth: TrueLabel) -> None:
        """Count the label of an example, with its prediction and decision."""
        labelled = example
        if before is None:
            self.learn(labelled.predicted, labelled.score, truth, labelled.decision)
        else:
            self.correct(labelled.predicted, labelled.score, before, truth, labelled.decision)

    def decide(self, predicted: TrueLabel, score: float, timestamp_ms: int, is_new: bool) -> Rule | None:  # noqa: FBT001
        """Return the decision on a predicted event; None if there is none, or if the event is repeated."""
        self.n_predictions += 1
        self.latest_ms = max(self.latest_ms, timestamp_ms)
        if self.n_predictions == 1 or timestamp_ms < self.first_ms:
            self.first_ms = timestamp_ms
        rule = self.decision_for(predicted, score, timestamp_ms, True) if is_new else None  # noqa: FBT003
        if rule is not None:
            rule.n_decided += 1
            self.n_decided += 1
        return rule

    def decision_for(self, predicted: TrueLabel, score: float, timestamp_ms: int, takes: bool) -> Rule | None:  # noqa: FBT001
        """Return the decision on a prediction without counting it; use its budget if `takes`."""
        bins, own = None, 0.0
        for k in range(len(self.rules)):
            rule = self.rules[k]
            if self._of_rules[k] is not bins:
                bins = self._of_rules[k]
                own = bins.own_score(predicted, score)
            assert bins is not None
            if own >= rule.threshold and (rule.spent is None or rule.has_budget(own, timestamp_ms, takes)):
                return rule
        return None

    def learn(self, predicted: TrueLabel, score: float, truth: TrueLabel, decision: str | None) -> None:
        """Count a label with its prediction and decision; search for thresholds when that is due."""
        for bins in self._every:
            if decision in bins.left_out:
                continue
            is_of_class = bins.is_own(truth)
            bins.add(bins.own_score(predicted, score), is_of_class)
            bins.n_of_class += is_of_class
            bins.n_others += not is_of_class
        rule = None if decision is None else self._named.get(decision)
        if rule is not None:
            rule.n_labelled += 1
            rule.n_right += truth == rule.truth
        if self.cost_positive:
            self.cost_added += self._cost(rule, truth)
        self._n_since_search += 1
        if self._has_drifted(truth, decision) or self._n_since_search >= _EVERY:
            self.search()
        if self._n_since_search >= _EVERY:
            self._n_since_search = 0
            for bins in self._every:
                bins.fade(self._fading)

    def _has_drifted(self, truth: TrueLabel, decision: str | None) -> bool:
        """Test each decision for drift with a label; discount earlier labels of decisions that drifted."""
        has_drifted = False
        for k in range(len(self.rules)):
            rule = self.rules[k]
            if rule.detect_drift(truth == rule.truth, rule.name == decision):
                self._of_rules[k].fade(_AFTER_DRIFT)
                has_drifted = True
        return has_drifted

    def correct(
        self, predicted: TrueLabel, score: float, before: TrueLabel, truth: TrueLabel, decision: str | None
    ) -> None:
        """Count a corrected label: the event moves to the other side of its bin.

        It has the weight of a new label; at most the weight left in the bin is taken from it. If the decision
        was set after the first label, that was not counted; so counts and costs fall to 0 at most.
        """
        for bins in self._every:
            if decision in bins.left_out:
                continue
            was, is_of_class = before == bins.truth, truth == bins.truth
            if was != is_of_class:
                own = bins.own_score(predicted, score)
                bins.add(own, was, -1.0)
                bins.add(own, is_of_class)
            bins.n_of_class = max(0, bins.n_of_class + is_of_class - was)
            bins.n_others = max(0, bins.n_others + was - is_of_class)
        rule = None if decision is None else self._named.get(decision)
        if rule is not None:
            n_right = rule.n_right + (truth == rule.truth) - (before == rule.truth)
            rule.n_right = max(0, min(n_right, rule.n_labelled))
        if self.cost_positive:
            change = self._cost(rule, truth) - self._cost(rule, before)
            self.cost_added += max(0.0, change)
            self.cost_taken_back = min(self.cost_added, self.cost_taken_back + max(0.0, -change))

    def search(self) -> None:
        """Search the thresholds that are found in bins."""
        for rule, bins in zip(self.rules, self._of_rules, strict=True):
            if rule.goal > _LEARNED or (rule.goal == COST and self.has_log_odds):
                continue
            positive, negative = (self.cost_positive, self.cost_negative)[:: bins.sign or 1]
            below = self._limit_of(rule)
            threshold = bins.find_threshold(rule.goal, rule.level, rule.confidence, positive, negative, below)
            rule.set_threshold(threshold, has_log_odds=self.has_log_odds)

    def _limit_of(self, rule: Rule) -> float:
        """Return the score from which on earlier decisions take the events that a precision leaves out."""
        earlier = self.rules[: self.rules.index(rule) if rule.goal == PRECISION else 0]
        of_class = [each for each in earlier if each.truth == rule.truth and each.spent is None]
        return min((each.threshold for each in of_class), default=NEVER)

    def _cost(self, rule: Rule | None, truth: TrueLabel) -> float:
        """Return the cost of a decision: of acting on a negative event, or not acting on a positive one."""
        acts = rule is not None and rule.truth is True
        if acts == (truth is True):
            return 0.0
        return self.cost_positive if acts else self.cost_negative

    @property
    def cost(self) -> float:
        """Return the total cost of the decisions according to the final labels."""
        return self.cost_added - self.cost_taken_back

    def state(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "counts": [self.n_predictions, self.n_decided, self._n_since_search],
            "times": [self.first_ms, self.latest_ms],
            "cost": [self.cost_added, self.cost_taken_back],
            "bins": [bins.state() for bins in self.bins.values()],
            "rest": {name: bins.state() for name, bins in self._rest.items()},
            "rules": [rule.state() for rule in self.rules],
            "calibrated": self._every[0].is_calibrated,
        }

    def restore(self, state: Any) -> None:  # noqa: ANN401 - see Part
        """Restore a state; of changed decisions, restore what they have in common. Raises `ValueError`.

        None is the state of a snapshot without decisions.
        """
        if state is None:
            return
        self.n_predictions, self.n_decided, self._n_since_search = state["counts"]
        if not 0 <= self.n_decided <= self.n_predictions or not 0 <= self._n_since_search < _EVERY:
            raise ValueError("decisions: impossible counts")
        self.first_ms, self.latest_ms = state["times"]
        self.cost_added, self.cost_taken_back = state["cost"]
        of_class = {each[0]: each for each in state["bins"]}
        for bins in self._every:
            if bins.truth in of_class:
                bins.restore(of_class[bins.truth])
        for name, each in state.get("rest", {}).items():
            if name in self._rest and each[0] == self._rest[name].truth:
                self._rest[name].restore(each)
        for kept in state["rules"]:
            if rule := self._named.get(kept[0][0]):
                rule.restore(kept)
        if [[*key] for key, *_ in state["rules"]] != [rule.key() for rule in self.rules]:
            self.search()
        self.start(has_log_odds=self.has_log_odds, is_calibrated=self._every[0].is_calibrated)

    def counts(self) -> Mapping[str, int]:
        """Return the number of decided predictions, and the cost of decisions as a whole number."""
        return _counts(self.n_decided, self.cost, has_cost=bool(self.cost_positive))

    @classmethod
    def counts_of(cls, state: Any) -> Mapping[str, int | None]:  # noqa: ANN401
        """Return the counts of a state."""
        added, taken_back = state["cost"]
        _, n_decided, _ = state["counts"]
        return _counts(n_decided, added - taken_back, has_cost=bool(added))

    @classmethod
    def is_younger(cls, state: Mapping[str, Any]) -> bool:
        """Return whether decisions were configured after the partition of this state had started."""
        return cls.name in state and bool(state[cls.name]["counts"][0] != state["counters"]["predictions"])

    def summary(self, cells: Mapping[tuple[TrueLabel, TrueLabel], int]) -> dict[str, Any]:
        """Return the results and costs of the decisions since the start.

        `cells` are the predictions by (truth, predicted); their costs are added for comparison.
        """
        results: dict[str, Any] = {"decisions": {rule.name: self.results_of(rule) for rule in self.rules}}
        if self.cost_positive:
            results["cost"] = self.cost
            results["cost_of_labels"] = self.cost_positive * cells.get((False, True), 0)
            results["cost_of_labels"] += self.cost_negative * cells.get((True, False), 0)
        return results

    def rows(self) -> list[tuple[TrueLabel, dict[str, float | None]]]:
        """Return the metrics that each threshold would have had on recent labels, by class."""
        days = (self.latest_ms - self.first_ms) / 86_400_000.0
        per_day = self.n_predictions / days if days else None
        return [
            (
                bins.truth,
                {
                    "threshold": logistic(row.threshold) if self.has_log_odds else row.threshold,
                    "precision": row.precision,
                    "recall": row.recall,
                    "false_positive_rate": row.false_positive_rate,
                    "decided_per_day": per_day and row.decided_ratio * per_day,
                },
            )
            for bins in self._every
            for row in bins.rows()
        ]

    def why_undecided(self, rule: Rule) -> str | None:
        """Return why a decision has no threshold; None if it has one."""
        if rule.threshold < NEVER or rule.goal > _LEARNED:
            return None
        bins = self._of_rules[self.rules.index(rule)]
        return why_undecided(rule.goal, rule.level, rule.confidence, bins, self._limit_of(rule))

    def results_of(self, rule: Rule) -> dict[str, Any]:
        """Return the results of a decision since the start."""
        bins, n_wrong = self.bins[rule.truth], rule.n_labelled - rule.n_right
        return {
            "goal": rule.goal_text(),
            "decided": rule.n_decided,
            "labelled": rule.n_labelled,
            "precision": rule.precision(),
            "recall": rule.n_right / bins.n_of_class if bins.n_of_class else None,
            "false_positive_rate": n_wrong / bins.n_others if bins.n_others else None,
            "threshold": rule.shown,
            "undecided": self.why_undecided(rule),
            "exhausted": bool(rule.is_exhausted()),
        }

    def would_decide(self, predicted: TrueLabel, score: float, timestamp_ms: int) -> dict[str, Any]:
        """Return the decision fields that the stream would write for a prediction; no budget is used."""
        rule = self.decision_for(predicted, score, timestamp_ms, False)  # noqa: FBT003
        return {"decision": None} if rule is None else rule.fields()

    def metrics(self) -> Sequence[PartMetric]:
        """Return the counts, precision, thresholds and cost of the decisions as metrics."""
        rules = self.rules
        labelled = {rule.name: rule.n_labelled for rule in rules}
        metrics = [
            PartMetric("decisions", _DECISIONS, {rule.name: rule.n_decided for rule in rules}, "decision"),
            PartMetric("decision_labels", _LABELLED, labelled, "decision"),
        ]
        gauges: Sequence[tuple[str, str, Mapping[str, float | None]]] = (
            ("decision_precision_ratio", _PRECISION, {rule.name: rule.precision() for rule in rules}),
            ("decision_threshold", _THRESHOLD, {rule.name: rule.shown for rule in rules}),
            ("decision_exhausted", _EXHAUSTED, {rule.name: rule.is_exhausted() for rule in rules}),
        )
        metrics += [PartMetric(*gauge, "decision", is_gauge=True) for gauge in gauges]
        if self.cost_positive:
            metrics.append(PartMetric("cost", _COST, self.cost_added))
        return metrics


def _counts(n_decided: int, cost: float, *, has_cost: bool) -> Mapping[str, int]:
    return {"decided": n_decided} | ({"cost": round(min(cost, _MAX_COST))} if has_cost else {})


def _log_odds(probability: float) -> float:
    if 0.0 < probability < 1.0:
        return log(probability) - log(1.0 - probability)
    return NEVER if probability >= 1.0 else -_MAX_FLOAT


def decisions_among(parts: Iterable[Part]) -> Decisions | None:
    """Return the decisions among a partition's parts; None if there are none."""
    return next((part for part in parts if isinstance(part, Decisions)), None)


def kept_rules(parts: Iterable[Part]) -> dict[str, Any]:
    """Return the decisions among a partition's parts for a model file; empty without any."""
    rules = found.rules if (found := decisions_among(parts)) else []
    kept = [{name: getattr(rule, name) for name in _OF_A_RULE} for rule in rules]
    for rule, each in zip(rules, kept, strict=True):
        each["threshold"] = None if rule.lowest_score() == NEVER else rule.lowest_score()
        each["goal_text"] = rule.goal_text()
    return {DECISIONS: kept} if kept else {}


def decisions_of(kept: Iterable[Mapping[str, Any]], *, has_log_odds: bool) -> Decisions:
    """Make decisions from `kept_rules`, with budgets that are never used up.

    Raises
    ------
    ValueError
        They cannot be read.

    """
    rules = []
    try:
        for each in kept:
            rule = Rule(*(each[name] for name in _OF_A_RULE[:4]))
            threshold = NEVER if each["threshold"] is None else each["threshold"]
            rule.set_threshold(threshold, has_log_odds=has_log_odds)
            rules.append(rule)
    except (ArithmeticError, LookupError, TypeError) as error:
        raise ValueError(f"unreadable decisions in the model: {error!r}") from None
    return Decisions(rules, 1.0)
