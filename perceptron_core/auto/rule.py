"""The compiled half of `AutoClassifier`, and the prediction context for late labels.

`rule.pxd` gives this module its C types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite
from typing import Any, Final

from perceptron_core.auto import experts
from perceptron_core.auto.ensemble import MAX_EXPERTS, SHARING, Ensemble, ExpertMistakes, n_ensembles
from perceptron_core.auto.explanation import Contribution, contributions, numbers_in, statuses
from perceptron_core.auto.feature_maps import AFTER_EARLY, NamedMaps
from perceptron_core.auto.plan import FOREST, LINEAR, MAP_OF_GROUP, Plan
from perceptron_core.auto.several_classes import SeveralClasses
from perceptron_core.elementary import log, logistic
from perceptron_core.linear import restored
from perceptron_core.mixing.lead import COMBINED, LastEvent, Lead
from perceptron_core.mixing.mixer import N_RATES
from perceptron_core.mixing.mixture import ExpertStatus
from perceptron_core.weights.buffers import doubles, from_bytes, to_bytes

HEADER: Final = 4
"""Numbers at the start of a context: the number of ensembles, of experts and of candidates in each, and the
leader.

They are followed by the inputs and outputs of each ensemble, the weights of the candidates, the mixer
inputs from the last labels of each ensemble, if any, and the number of labels learned before."""
_BYTES_A_NUMBER: Final = 8


def context_of(ensembles: list[Ensemble], lead: Lead, n_labels: int, max_bytes: int) -> bytes:
    """Return the context of the last scored event, after `n_labels` labels.

    If it would exceed `max_bytes`, the context has no experts.
    """
    if lead.n == 0:
        return b""
    n = ensembles[0].n if ensembles else 0
    n_written = len(ensembles) if n else 0
    width = n + lead.n
    n_history = ensembles[0].n_history() if n_written else 0
    if _BYTES_A_NUMBER * (HEADER + n_written * (width + n_history) + lead.n + 1) > max_bytes:
        n_written = 0
    end = HEADER + n_written * width
    n_weights = lead.n if n_written else 0
    numbers = doubles(end + n_weights + n_written * n_history + 1)
    numbers[0], numbers[1], numbers[2], numbers[3] = n_written, n, lead.n, lead.leader
    for k in range(n_weights):
        numbers[end + k] = lead.weights[k]
    for k in range(n_written):
        ensemble = ensembles[k]
        ensemble.write_context(numbers, HEADER + k * width, lead.n)
        if n_history:
            ensemble.write_history(numbers, end + n_weights + k * n_history)
    numbers[len(numbers) - 1] = n_labels
    return to_bytes("d", numbers)


def context_numbers(context: bytes) -> memoryview[float]:
    """Return the numbers of a context from `context_of`. Raises `ValueError` if it is invalid."""
    if not isinstance(context, bytes) or len(context) % _BYTES_A_NUMBER:
        raise ValueError(f"expected the bytes of `prediction_context()`, got {context!r:.50}")
    found = from_bytes("d", context)
    if len(found) >= HEADER and isfinite(sum(found)):
        n_written, n, n_candidates, leader = found[:HEADER].tolist()
        n_more = len(found) - HEADER - n_written * (n + n_candidates)
        known = {n_candidates + 1, n_candidates + n_written * N_RATES + 1} if n_written else {1}
        is_known = n_more in known and found[len(found) - 1] >= 0
        if 0 <= leader < n_candidates <= MAX_EXPERTS >= n >= 0 and is_known:
            return found
    if len(found):
        raise ValueError(f"expected a prediction context, got {len(found)} numbers")
    return found


def read_context(ensembles: list[Ensemble], lead: Lead, context: memoryview[float]) -> None:
    """Read the predictions and the weights of candidates from a context.

    Nothing is read if it has none, or if a third class has changed the experts since.
    """
    if len(context) == 0 or context[0] != len(ensembles):
        return
    n, n_candidates = int(context[1]), int(context[2])
    end = HEADER + len(ensembles) * (n + n_candidates)
    with_history = has_history(context)
    for k in range(len(ensembles)):
        ensemble = ensembles[k]
        ensemble.read_context(context, HEADER + k * (n + n_candidates), n, n_candidates)
        if with_history:
            ensemble.read_history(context, end + n_candidates + k * N_RATES)
    for k in range(lead.n):
        lead.weights[k] = context[end + k] if k < n_candidates else 0.0


def lateness(context: memoryview[float], n_labels: int) -> float:
    """Return the number of labels between the prediction of a context and `n_labels`.

    It is infinite if the context lacks the mixer inputs from the last labels.
    """
    if len(context) == 0 or context[len(context) - 1] == n_labels:
        return 0.0
    is_whole = context[1] == 0 or has_history(context)  # or there were none to write
    return n_labels - context[len(context) - 1] if is_whole else inf


def has_history(context: memoryview[float]) -> bool:
    """Return whether the context has the mixer inputs from the last labels."""
    n_written, n, n_candidates = int(context[0]), int(context[1]), int(context[2])
    return len(context) > HEADER + n_written * (n + n_candidates) + n_candidates + 1


_MAX_LOSS: Final = 8.0
"""Largest log loss of a probability."""
_MAX_CONTEXT_BYTES: Final = 1 << 30


class AutoRule:
    """Scores and learns events with an ensemble for each class, and predicts by the best candidate.

    Two classes share one ensemble, which has the log-odds of the second class.
    """

    maps: NamedMaps
    labels: list[Any]
    numbers: dict[Any, int]
    ensembles: list[Ensemble]
    groups: list[str]
    lead: Lead
    n_mistakes: int
    n_updates: int

    def start(self, bits: int, seed: int, max_columns: int, labels: Sequence[Any], plan: Plan) -> None:
        """Start untrained, with these classes."""
        self.plan = plan
        self.share_of_loss = plan.share_of_loss
        self.maps, self._last = NamedMaps(bits, seed, max_columns, plan), LastEvent()
        self.labels, self.numbers, self.ensembles, self.groups = [], {}, [], []
        self._several_classes, self._mistakes = SeveralClasses(), ExpertMistakes()
        self.lead = Lead(plan.n_always, plan.n_late, plan.n_prompt, MAX_EXPERTS, plan.averages)
        self._note_absent()
        self._no_context = context_numbers(b"")
        self.lead.discount = experts.discount(())
        self.n_mistakes = self.n_updates = 0
        for label in labels:
            self.add_class(label)

    def add_class(self, label: Any) -> None:
        """Add a class.

        With the third class, the shared ensemble is for the second; the first and third get new ones.
        """
        self.numbers[label] = len(self.labels)
        self.labels.append(label)
        if len(self.labels) == 1:
            self.ensembles.append(self._new_ensemble(1))
        elif len(self.labels) > SHARING:
            if len(self.ensembles) == 1:
                self.ensembles.insert(0, self._new_ensemble(0))
            self.ensembles.append(self._new_ensemble(len(self.labels) - 1))
        self.reserve()

    def log_odds(self, x: Any) -> list[float]:
        """Return the leader's log-odds of each class. Raises `FeatureError`."""
        self._score(x)
        self._keep(x)
        return self._log_odds()

    def _log_odds(self) -> list[float]:
        return [self._log_odds_of(number, COMBINED) for number in range(len(self.labels))]

    def learn(
        self, x: Any, label: Any, w: float, context: bytes = b"", was_early: bool = False
    ) -> list[float]:
        """Score an event, then learn it with weight w; return the log-odds before learning.

        With a context, mixers and candidates learn from its outputs, unless a drift was found since: then
        these say nothing about the present experts. `was_early` means that the event was learned before as
        another class: boosted trees replace that class, other learners multiply w by `AFTER_EARLY`, mixers
        and candidates do not. Raises `ValueError` if the context is invalid.
        """
        earlier = None if context == b"" else context_numbers(context)
        self._score(x)
        found = self._log_odds()
        self._last.forget()
        if w > 0 and earlier is not None:
            self._learn(label, w, earlier, was_early)
        elif w > 0:
            self._learn(label, w, self._no_context, was_early)
        return found

    def prediction_context(self, max_bytes: int = _MAX_CONTEXT_BYTES) -> bytes:
        """Return the context of the last scored event, for a late label, with 8 bytes per number.

        The last number counts the labels learned before; beyond `max_bytes`, there is no other number.
        """
        return context_of(self.ensembles, self.lead, self.n_updates, max_bytes)

    def number_of_class(self, x: Any) -> int:
        """Return the number of the predicted class; −1 if there is none. Raises `FeatureError`."""
        self._score(x)
        self._keep(x)
        return self._decision(COMBINED)

    def explain(self, x: Any, number: int) -> tuple[list[Contribution], float]:
        """Return the contribution of each feature to the leader's log-odds of a class, and the intercept.

        Before any label, these are empty and 0. Raises `FeatureError`, and `ValueError` for an unknown class.
        """
        if number not in range(len(self.labels)):
            known = f"of {len(self.labels)}" if self.labels else "as no class is known yet"
            raise ValueError(f"{number!r:.50} is not the number of a class, {known}")
        number = int(number)
        self._score(x)
        self._last.forget()  # the following changes the experts' scores
        shared = len(self.labels) <= SHARING
        ensemble = self.ensembles[0 if shared else number]
        weights = ensemble.combined_weights(self.lead, self.maps.active)
        boosted = self.maps.boosted_contributions(ensemble.number)
        found, intercept = contributions(ensemble, weights, self.maps.examples, self.maps.names(x), boosted)
        found |= ensemble.history_contribution(self.lead.leader)
        sign = -1.0 if shared and not number else 1.0
        values = numbers_in(x)
        terms = [Contribution(name, values.get(name), sign * added) for name, added in found.items()]
        return terms, sign * intercept + 0.0  # turns −0 into 0

    @property
    def leader(self) -> int:
        """The number of the leading candidate."""
        return self.lead.leader

    @property
    def candidates(self) -> list[str]:
        """The candidates for the lead: the mixers and the single experts."""
        alone = [self.ensembles[0].names[k] for k in self.ensembles[0].may_lead] if self.ensembles else []
        return [*self.plan.mixtures, *alone]

    @property
    def experts(self) -> list[ExpertStatus]:
        """The experts: their weights in the leader's prediction, and their mistakes."""
        weights = [ensemble.combined_weights(self.lead) for ensemble in self.ensembles]
        return statuses(self.ensembles, weights, self._mistakes)

    def _new_ensemble(self, number: int) -> Ensemble:
        made = Ensemble(
            number, *experts.mixers(self.plan), n_late=self.plan.n_late, n_prompt=self.plan.n_prompt
        )
        for group in self.groups:
            experts.add_experts(made, group)
        return made

    def _score(self, x: Any) -> None:
        """Compute the predictions of each ensemble for an event, unless it is the last scored one."""
        if not self._last.is_same(x):
            self._last.forget()
            self.maps.load(x)
            self.maps.compute()
            self.reserve()
            self._score_loaded()

    def _keep(self, x: Any) -> None:
        """Note an event as the last scored one, until something is learned."""
        if self.ensembles:
            self._last.keep(x)

    def _score_loaded(self) -> None:
        if len(self.ensembles) > 1:
            self._several_classes.score(self.ensembles, self.maps.examples, self.maps.active)
        for k in range(len(self.ensembles)):
            ensemble = self.ensembles[k]
            ensemble.score(self.maps.examples, self.maps.active, self.lead)

    def _log_odds_of(self, number: int, candidate: int) -> float:
        """Return the log-odds of a class by a candidate, or by the combined prediction."""
        ensemble = self.ensembles[0 if len(self.labels) <= SHARING else number]
        log_odds = ensemble.combined(self.lead) if candidate == COMBINED else ensemble.outputs[candidate]
        return -log_odds if len(self.labels) <= SHARING and not number else log_odds

    def _decision(self, candidate: int) -> int:
        """Return the number of the class that a candidate, or the combined prediction, predicts; −1: none."""
        best, highest = -1, 0.0
        if len(self.labels) == SHARING:  # the first class has the negative log-odds of the second
            return 1 if self._log_odds_of(1, candidate) > 0 else 0
        for number in range(len(self.labels)):
            log_odds = self._log_odds_of(number, candidate)
            if best < 0 or log_odds > highest:
                best, highest = number, log_odds
        return best

    def _evaluate(self, number: int, w: float) -> None:
        """Evaluate the candidates and the combined prediction on an event of a class.

        Losses count w times, at most once.
        """
        share = min(w, 1.0)
        for k in range(COMBINED, self.lead.n):
            loss = log_loss = 0.0
            if k == COMBINED or self.lead.is_in_use(k):
                loss = 1.0 if self._decision(k) != number else 0.0
                if self.share_of_loss > 0:
                    log_loss = self._log_loss(number, k)
                    loss += self.share_of_loss * log_loss
            self.lead.evaluate(k, share * loss, share * log_loss)
        self.lead.choose()

    def _log_loss(self, number: int, candidate: int) -> float:
        """Return −ln of a candidate's probability of a class, at most 8."""
        total = 0.0
        if len(self.labels) > SHARING:
            for k in range(len(self.labels)):
                total += logistic(self._log_odds_of(k, candidate))
        p = logistic(self._log_odds_of(number, candidate))
        p = p / total if total > 0 else p
        return min(-log(p), _MAX_LOSS) if p > 0 else _MAX_LOSS

    def _learn(self, label: Any, w: float, context: memoryview[float], was_early: bool) -> None:
        """Learn the scored event, with weight w > 0; see `learn`."""
        is_new = label not in self.numbers
        if is_new:
            for each in (False, True) if isinstance(label, bool) and not self.labels else (label,):
                self.add_class(each)
        if self._join() or is_new:
            self._score_loaded()
        self.maps.learn()
        self.maps.reserve(len(self.labels))
        self.reserve()  # no allocation after this
        number = self.numbers[label]
        positive = number - 1 if len(self.labels) <= SHARING else number  # one ensemble: of the second class
        was_prompt = self.lead.is_prompt()
        late = lateness(context, self.n_updates)
        self.lead.note_lateness(late)
        is_other = len(context) > 0 or was_prompt != self.lead.is_prompt()
        read_context(self.ensembles, self.lead, context)
        is_wrong = self._decision(COMBINED) != number
        self.n_mistakes += is_wrong
        first, factor = self.ensembles[0], AFTER_EARLY if was_early else 1.0
        n_known = int(context[1]) if late > 0 else first.n
        boosted_is_wrong = self._mistakes.count(
            self.ensembles, self.maps.active, number, self.lead.discount, min(n_known, first.n)
        )
        if self.maps.boosted.has_drifted(late):
            boosted_is_wrong = -1
            self.lead.choose()
            self._score_loaded()
        self._evaluate(number, w)
        for k in range(len(self.ensembles)):
            ensemble = self.ensembles[k]
            ensemble.learn_mixers(k == positive, w, self.lead, is_other)
            ensemble.learn(self.maps.examples, self.maps.active, k == positive, w * factor)
        w *= factor
        if len(self.ensembles) > 1:
            self._several_classes.learn(self.maps.examples, self.maps.active, number, w)
        self.maps.count(number, w, boosted_is_wrong, is_wrong, was_early)
        if self.maps.active[FOREST]:
            self._grow(number, w)
        self.n_updates += 1

    def _grow(self, number: int, w: float) -> None:
        """Update the trees; reset the weights of removed nodes."""
        self.maps.grow(number, w)
        trees = self.maps.trees
        for tree in range(trees.n_trees):
            if trees.forgotten[tree]:
                for k in range(len(self.ensembles)):
                    ensemble = self.ensembles[k]
                    ensemble.forget(FOREST, tree, trees.n_trees)

    def _join(self) -> bool:
        """Add the experts of maps that are active for the first time; return whether there were any."""
        n_before = len(self.groups)
        for group, number in self._absent:
            active = self.maps.columns.in_event() if number == LINEAR else self.maps.active[number]
            if self.maps.is_empty:  # an intercept suffices
                waits = self.share_of_loss > 0 and self.maps.columns.begin_after_event
                active = group == self.plan.groups[0] and not self.groups and not waits
            if active:
                self.add_group(group)
        return len(self.groups) > n_before

    def add_group(self, group: str) -> None:
        """Add the experts of a group of maps."""
        self.groups.append(group)
        self._note_absent()
        for ensemble in self.ensembles:
            experts.add_experts(ensemble, group)
        self._count_candidates()
        self.reserve()

    def _note_absent(self) -> None:
        """List the groups of experts that have not joined, each with the map that must be active."""
        absent = [group for group in self.plan.groups if group not in self.groups]
        self._absent = [(group, MAP_OF_GROUP[group]) for group in absent]

    def _count_candidates(self) -> None:
        """Make experts of new groups candidates, which start as good as the first."""
        self.lead.set_n_experts(len(self.ensembles[0].may_lead))
        self.lead.discount = experts.discount(self.groups)

    def reserve(self) -> None:
        """Make room for the slots of growing maps."""
        if len(self.ensembles) > 1:
            self._several_classes.reserve(self.ensembles, self.maps.sizes)
        for k in range(len(self.ensembles)):
            ensemble = self.ensembles[k]
            ensemble.reserve(self.maps.sizes)

    def _get_state(self) -> dict[str, Any]:
        maps, ensembles = self.maps.get_state(), []
        self.reserve()  # for new columns of the last event
        for ensemble in self.ensembles:
            ensembles.append(ensemble.get_state(self.maps.sizes))
        return {
            "labels": [*self.labels],
            "groups": [*self.groups],
            "maps": maps,
            "ensembles": ensembles,
            "experts": self._mistakes.get_state(self.ensembles[0].n if ensembles else 0),
            **self.lead.get_state(),
            "n_mistakes": self.n_mistakes,
            "n_updates": self.n_updates,
        }

    def _set_state(self, state: Mapping[str, Any]) -> None:
        self.start(self.maps.bits, self.maps.dense.seed, self.maps.columns.limit, (), self.plan)
        met, groups = restored.classes(state["labels"]), [*state["groups"]]
        self.n_mistakes, self.n_updates = map(restored.count, (state["n_mistakes"], state["n_updates"]))
        if len({*groups}) < len(groups) or not {*groups} <= {*self.plan.groups}:
            raise ValueError(f"expected groups of {[*self.plan.groups]}, each once, got {groups!r:.200}")
        if (n := len(state["ensembles"])) != n_ensembles(len(met)) or (groups and not met):
            raise ValueError(f"expected experts of {len(met)} classes, got {n} ensembles of {groups}")
        self.maps.set_state(state["maps"], len(met))
        self.groups = groups
        self._note_absent()
        for label in met:
            self.add_class(label)
        for ensemble, learned in zip(self.ensembles, state["ensembles"], strict=True):
            ensemble.set_state(learned)
        self._several_classes = SeveralClasses()  # from the present cells
        self.reserve()
        if self.ensembles:
            self._count_candidates()
        self._mistakes.set_state(state["experts"], self.ensembles[0].n if self.ensembles else 0)
        self.lead.set_state(state)
