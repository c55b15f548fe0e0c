"""The oracle: compute what must be written for one partition's inputs, in the order of its batches.

It is written from the documents, without a line of the service or of the core: plain Python, lists and
dictionaries, windows by key that keep every event, the formulas of the papers in the order of summation that
`docs/` promises. Where it and the service disagree, one of them is wrong.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from typing import Any

from tests.service.partition.windows.reference import LoopWindow

X = dict[str, float]


@dataclass(slots=True)
class Message:
    """What a record of the input means, known to the workload that made it."""

    kind: str
    """`event`, `label` or `bad`."""
    id: str = ""
    x: X = field(default_factory=dict)
    label: Any = None
    """As it is spelled."""
    reason: str = ""
    """Of a bad one."""
    key: str | None = None
    number: float | None = None
    """Of the windows by key."""


class Perceptron:
    """w ← w + y·x on a mistake, and where the score is 0."""

    can_undo = True

    def __init__(self):
        self.weights = {}
        self.bias = 0.0
        self.updates = 0

    def assess(self, x):
        score = self.bias
        for name, value in x.items():
            score += self.weights.get(name, 0.0) * value
        return score > 0, score

    def learn(self, x, truth):
        sign = 1.0 if truth else -1.0
        _, score = self.assess(x)
        step = self.step(x, sign, score)
        if step:
            self.add(x, step)
            self.updates += 1
        return step

    def step(self, x, sign, score):
        return 0.0 if sign * score > 0 else sign

    def add(self, x, step):
        for name, value in x.items():
            if value:
                weight = self.weights.get(name, 0.0) + step * value
                if weight:
                    self.weights[name] = weight
                else:
                    self.weights.pop(name, None)
        self.bias += step

    def undo(self, x, step):
        if step:
            self.add(x, -step)

    def state(self):
        return {"weights": self.weights, "bias": self.bias, "updates": self.updates}


class PassiveAggressive(Perceptron):
    """PA-I with C = 1: as far as the margin wants, but not beyond C."""

    def step(self, x, sign, score):
        loss = max(0.0, 1.0 - sign * score)
        if not loss:
            return 0.0
        norm = 0.0
        for value in x.values():
            norm += value * value
        return sign * min(1.0, loss / (norm + 1))


class Arow(Perceptron):
    """Adaptive regularisation with r = 1 and a variance for each weight."""

    can_undo = False

    def __init__(self):
        super().__init__()
        self.variances = {}
        self.bias_variance = 1.0

    def learn(self, x, truth):
        sign = 1.0 if truth else -1.0
        _, score = self.assess(x)
        if sign * score >= 1:
            return 0.0
        v = self.bias_variance
        for name, value in x.items():
            v += self.variances.get(name, 1.0) * value * value
        alpha = (1.0 - sign * score) / (v + 1.0)
        for name, value in x.items():
            if value:
                variance = self.variances.get(name, 1.0)
                self.weights[name] = self.weights.get(name, 0.0) + sign * alpha * variance * value
                self.variances[name] = variance * (1.0 + (v - variance * value * value)) / (1.0 + v)
        self.bias += sign * alpha * self.bias_variance
        self.bias_variance *= (1.0 + (v - self.bias_variance)) / (1.0 + v)
        self.updates += 1
        return sign * alpha

    def state(self):
        weights = {name: weight for name, weight in self.weights.items() if weight}
        return {"weights": weights, "bias": self.bias, "updates": self.updates}


class Multiclass:
    """A weight vector for each class; a mistake moves the example from the wrong one to the right one."""

    can_undo = True

    def __init__(self, classes):
        self.classes = classes
        self.vectors = {label: Perceptron() for label in classes}
        self.updates = 0

    def assess(self, x):
        scores = {label: vector.assess(x)[1] for label, vector in self.vectors.items()}
        best = self.classes[0]
        for label in self.classes[1:]:
            if scores[label] > scores[best]:
                best = label
        return best, scores[best]

    def learn(self, x, truth):
        guess, _ = self.assess(x)
        if guess == truth:
            return None
        self.vectors[truth].add(x, 1.0)
        self.vectors[guess].add(x, -1.0)
        self.updates += 1
        return truth, guess

    def undo(self, x, step):
        if step:
            gained, lost = step
            self.vectors[gained].add(x, -1.0)
            self.vectors[lost].add(x, 1.0)

    def state(self):
        return {
            "weights": {label: vector.weights for label, vector in self.vectors.items()},
            "bias": {label: vector.bias for label, vector in self.vectors.items()},
            "updates": self.updates,
        }


class Windows:
    """Features of the earlier events of the same key; see `LoopWindow`."""

    def __init__(self, settings):
        self._spans = {span: 1000 * int(span[:-1]) for span in settings.over}
        self._settings = settings
        self._loop = LoopWindow([*self._spans.values()], settings.max_keys)

    def x(self, message, time):
        """Return the features of an event: those of the windows stand before those of its text."""
        if message.key is None:
            return message.x
        values = self._loop.values(message.key, time)
        found = {name: value for name, value in message.x.items() if not name.startswith("text=")}
        for span, span_ms in self._spans.items():
            for what, aggregates in self._settings.of.items():
                for aggregate in aggregates:
                    value = values.get(f"{'events' if what == '@event' else aggregate}_{span_ms}")
                    if aggregate != "seconds_since_last" and value is not None:
                        found[self._settings.feature_name(what, aggregate, span)] = float(value)
        if "since" in values:
            found[self._settings.feature_name("@event", "seconds_since_last", "")] = values["since"]
        return found | message.x

    def take(self, message, time):
        """Count an event; return what `learn` knows it by."""
        if message.key is None:
            return None
        return message.key, self._loop.take(message.key, time, message.number, 0)

    def learn(self, taken, truth):
        """Say the truth about an event."""
        if taken is not None:
            self._loop.learn(*taken, truth)


class Decisions:
    """What is decided from a score on, or as the best of a second: so many at most."""

    def __init__(self, settings):
        self._rules = settings
        self._budgets = {}
        self.n_decided = 0

    def decide(self, score, time):
        """Return what an output says of the decision on an event with this score."""
        for rule in self._rules:
            if rule.goal == "max_rate":
                budget = self._budgets.setdefault(rule.name, Budget(int(rule.level.partition("/")[0]), time))
                threshold = budget.take(score, time)
            else:
                threshold = rule.level if score >= rule.level else None
            if threshold is not None:
                self.n_decided += 1
                fields = {"decision": rule.name, "threshold": threshold}
                return {name: value for name, value in fields.items() if value != -math.inf}
        return {"decision": None}


class Budget:
    """So many decisions in each second: for scores above which no more are expected than are left."""

    def __init__(self, most, time):
        self.most, self.used, self.least = most, 0, -math.inf
        self.first = self.latest = self.searched = time
        self.since, self.weights = 0, {}

    def take(self, score, time):
        """Return the threshold that a score has reached; None if it is not decided."""
        if time // 1000 > self.latest // 1000:
            self.used, self.since = 0, 100
        self.latest = max(self.latest, time)
        if self.since >= 100 or time - self.searched > 1000 // 256:
            self._search()
        takes = score >= self.least and self.used < self.most
        low = self._bin_of(score)
        self.weights[low] = self.weights.get(low, 0.0) + 1.0
        self.since = 100 if takes else self.since + 1
        self.used += takes
        return self.least if takes else None

    def _search(self):
        fading = math.exp(-(self.latest - self.searched) / 1000)
        remaining = (1000 - self.latest % 1000) / 1000
        known = 1.0 - math.exp(-(self.latest - self.first) / 1000)
        left = (self.most - self.used) * known / (remaining * max(fading, 1e-9))
        self.least = -math.inf
        for low in sorted(self.weights, reverse=True):
            if self.weights[low] > left:
                high = self._bin_of(low, 1)
                self.least = high - (high - low) * math.floor(16 * left / self.weights[low]) / 16
                break
            left -= self.weights[low]
        faded = {low: weight * fading for low, weight in self.weights.items()}
        self.weights = {low: weight for low, weight in faded.items() if weight >= 0.01}
        self.searched, self.since = self.latest, 0

    @staticmethod
    def _bin_of(score, further=0):
        """Return where the bin of a score begins, or one further on: an eighth of an octave.

        A negative score's bin is that of the positive one, mirrored; that of 0 has the smallest numbers.
        """
        if score < 0:
            return math.nextafter(-Budget._bin_of(-score, 1 - further), 0.0)
        if score == 0:
            return further * 2.0**-1025
        mantissa, exponent = math.frexp(score)
        return math.ldexp((math.floor(mantissa * 16) + further) / 16, exponent)


class Delays:
    """The delays of the last thousand labels, and what is drawn from them."""

    def __init__(self):
        self._latest = []
        self._count = 0
        self._first = None

    def begin(self, time):
        """Note the time of an event: that of the first is the beginning."""
        self._first = time if self._first is None else self._first

    def draw(self, event_id, longest, now):
        """Return how long an event waits: a quantile by its id, and a tenth of the age of the stream."""
        if not self._latest:
            return longest
        share = int(hashlib.blake2b(event_id.encode(), digest_size=8).hexdigest(), 16)
        quantile = sorted(self._latest)[share * len(self._latest) // 2**64]
        return min(longest, quantile + int(0.1 * max(0, now - self._first)))

    def take(self, delay):
        """Take the delay of a label; return whether there are twice as many as the last time."""
        self._latest = [*self._latest[-999:], max(0, delay)]
        self._count += 1
        return self._count in {2**k for k in range(10)}


MODELS = {"perceptron": Perceptron, "passive-aggressive": PassiveAggressive, "arow": Arow}


@dataclass(slots=True)
class Kept:
    """An event that was predicted and may still get its label, or another one."""

    x: X
    predicted: Any
    time: int
    truth: Any = None
    step: Any = 0.0
    is_provisional: bool = False
    """Whether its truth is that of the timeout, and no label has said so."""
    taken: Any = None
    """What the windows by key know it by."""
    due: int | None = None
    """When it is learned without a label; None once it was."""
    is_early: bool = False
    """Whether it was learned so."""


class Partition:
    """One partition as the documents describe it.

    Parameters
    ----------
    model, classes
        Which model, and the names of its classes; () for booleans.
    timeout_ms, capacity
        How long, and how many, events and early labels are kept.
    ahead_ms
        How far the time of a record may be ahead of the service's.
    on_timeout
        What an event is that got no label in time; "" if nothing.
    delays
        Those that events without a label match; None if they are learned at the timeout.
    correction_ms
        How long after that a label may still say something else.
    windows
        Of the windows by key; None if there are none.
    decisions
        What is decided; None if nothing is.

    """

    def __init__(
        self,
        model: str,
        classes: tuple[str, ...],
        timeout_ms: int,
        capacity: int,
        ahead_ms: int,
        on_timeout: str,
        delays: Delays | None,
        correction_ms: int,
        windows: Windows | None,
        decisions: Decisions | None,
    ) -> None:
        self.classes = classes
        self.on_timeout = None
        if on_timeout:
            self.on_timeout = self._truth(on_timeout) if classes else on_timeout == "true"
        self.make_model = lambda: Multiclass(classes) if len(classes) > 2 else MODELS[model]()
        self.model = self.make_model()
        self.timeout_ms, self.capacity, self.ahead_ms = timeout_ms, capacity, ahead_ms
        self.kept_ms = timeout_ms if self.on_timeout is None else timeout_ms + correction_ms
        self.windows, self.decisions = windows, decisions
        self.delays = None if self.on_timeout is None else delays
        self.now = 0
        self.kept: dict[str, Kept] = {}
        self.early: dict[str, tuple[Any, int]] = {}
        self.expired: dict[str, None] = {}
        self.spelling = classes if len(classes) == 2 else (False, True)
        self.counts = dict.fromkeys(("predictions", "labelled", "mistakes", "rejected"), 0)
        self.labels: dict[str, int] = {}
        self.told_apart = dict.fromkeys(("assumed", "revised", "evicted"), 0)
        self.consumed: dict[str, int] = {}

    def take(self, message: Message, topic: str, time: int, now: int) -> list[dict[str, Any]]:
        """Return what must be written for the next record, processed at `now`."""
        self.consumed[topic] = self.consumed.get(topic, 0) + 1
        if not 0 <= time <= now + self.ahead_ms:
            self.counts["rejected"] += 1
            return [{"reason": "event_time_out_of_range"}]
        timed_out = self._time_out(time)
        self._let_go(time)
        if message.kind == "bad":
            self.counts["rejected"] += 1
            return [*timed_out, {"reason": message.reason}]
        output = self._event(message, time) if message.kind == "event" else self._label(message, time)
        return timed_out if output is None else [*timed_out, output]

    @property
    def all_counts(self) -> dict[str, int]:
        """What is counted; what most streams have none of, once there is any."""
        of_labels = {"corrected": "corrected", "late": "late", "orphaned": "orphan"}
        of_labels["rejected_labels"] = "rejected"
        later = {name: self.labels.get(each, 0) for name, each in of_labels.items()}
        later |= {name: self.told_apart[name] for name in ("assumed", "evicted")}
        if self.decisions is not None:
            later["decided"] = self.decisions.n_decided
        if revised := self.told_apart["revised"]:
            later["known_mistakes"] = self.counts["mistakes"] + revised
        return self.counts | {name: count for name, count in later.items() if count}

    @property
    def pending(self) -> int:
        """How many events wait for their first label."""
        return sum(each.truth is None for each in self.kept.values())

    def _time_out(self, time):
        """Label what has waited too long, first come first served, up to one that may still wait."""
        outcomes = []
        if time <= self.now or self.on_timeout is None:
            return outcomes
        self._learn_early(time)
        for event_id, kept in self.kept.items():
            if kept.truth is not None:
                continue
            if kept.time >= time - self.timeout_ms:
                break
            self._learn(kept, self.on_timeout)
            kept.is_provisional = True
            self.told_apart["assumed"] += 1
            self._count("timed_out")
            outcomes.append(self._outcome(event_id, kept, self.timeout_ms))
        return outcomes

    def _learn_early(self, time):
        """Learn what waits for no label any longer, in the order in which that is due."""
        due = [kept for kept in self.kept.values() if kept.truth is None and kept.due is not None]
        for kept in sorted(due, key=lambda each: each.due):
            if kept.due < time:
                kept.due, kept.is_early = None, True
                kept.step = self.model.learn(kept.x, self.on_timeout)

    def _note_delay(self, kept, time):
        if self.delays is None or kept.truth == self.on_timeout or not self.delays.take(time - kept.time):
            return
        for event_id, each in self.kept.items():
            if each.truth is None and each.due is not None:
                each.due = each.time + self.delays.draw(event_id, self.timeout_ms, self.now)

    def _let_go(self, time):
        if time <= self.now:
            return
        self.now = time
        while self.kept and next(iter(self.kept.values())).time < time - self.kept_ms:
            self._drop_oldest()
        while self.early and next(iter(self.early.values()))[1] < time - self.timeout_ms:
            del self.early[next(iter(self.early))]
            self._count("orphan")

    def _drop_oldest(self):
        event_id = next(iter(self.kept))
        kept = self.kept.pop(event_id)
        if kept.truth is None or kept.is_provisional:
            if len(self.expired) >= self.capacity:
                del self.expired[next(iter(self.expired))]
            self.expired[event_id] = None
        return kept.truth is None

    def _event(self, message, time):
        x = message.x if self.windows is None else self.windows.x(message, time)
        predicted, score = self.model.assess(x)
        updates = self.model.updates
        known = self.kept.get(message.id)
        truth = self._truth(message.label)
        if message.label is not None:
            self._spell_like(message.label)
        if known is not None:
            if truth is not None:
                self._know_better(known, truth, time)
            truth = known.truth
        else:
            truth = self._first_seen(message, truth, Kept(x, predicted, time))
        self.counts["predictions"] += 1
        output = {
            "id": message.id,
            "label": self._spell(predicted),
            "score": score,
            "updates": updates,
            "event_time_ms": time,
        }
        if self.decisions is not None:
            output |= {"decision": None} if known else self.decisions.decide(score, time)
        if truth is not None:
            output |= {"truth": self._spell(truth), "mistake": predicted != truth}
        return output

    def _first_seen(self, message, truth, kept):
        early = self.early.pop(message.id, None)
        if self.windows is not None:
            kept.taken = self.windows.take(message, kept.time)
        if truth is None and early is not None:
            truth = early[0]
            self._count("matched")
        elif early is not None:
            self._count("duplicate" if early[0] == truth else "corrected")
        if truth is not None:
            self._learn(kept, truth)
        if len(self.kept) >= self.capacity:
            self.told_apart["evicted"] += self._drop_oldest()
        self.kept[message.id] = kept
        if self.delays is not None:
            self.delays.begin(kept.time)
        if self.delays is not None and truth is None:
            kept.due = kept.time + self.delays.draw(message.id, self.timeout_ms, self.now)
        return truth

    def _label(self, message, time):
        truth = self._truth(message.label)
        self._spell_like(message.label)
        kept = self.kept.get(message.id)
        if kept is None:
            self._early_or_late(message.id, truth, time)
            return None
        is_first = kept.truth is None
        self._know_better(kept, truth, time)
        if not is_first:
            return None
        self._count("matched")
        return self._outcome(message.id, kept, time - kept.time)

    def _outcome(self, event_id, kept, delay_ms):
        return {
            "id": event_id,
            "label": self._spell(kept.truth),
            "predicted": self._spell(kept.predicted),
            "mistake": kept.predicted != kept.truth,
            "label_delay_seconds": delay_ms / 1000,
            "event_time_ms": kept.time,
        }

    def _early_or_late(self, event_id, truth, time):
        if event_id in self.expired:
            self._count("late")
        elif event_id not in self.early:
            if len(self.early) >= self.capacity:
                del self.early[next(iter(self.early))]
                self._count("orphan")
            self.early[event_id] = truth, time
        elif self.early[event_id][0] == truth:
            self._count("duplicate")
        else:
            self.early[event_id] = truth, time
            self._count("corrected")

    def _know_better(self, kept, truth, time):
        is_news = kept.truth is None or kept.is_provisional
        (self._learn if kept.truth is None else self._correct)(kept, truth)
        if is_news:
            self._note_delay(kept, time)

    def _learn(self, kept, truth):
        if not kept.is_early:
            kept.step = self.model.learn(kept.x, truth)
        elif truth != self.on_timeout:
            if self.model.can_undo:
                self.model.undo(kept.x, kept.step)
            kept.step = self.model.learn(kept.x, truth)
        self._know(kept, truth)
        self.counts["labelled"] += 1
        self.counts["mistakes"] += kept.predicted != truth

    def _correct(self, kept, truth):
        if kept.truth == truth:
            self._count("confirmed" if kept.is_provisional else "duplicate")
        elif self.model.can_undo or not kept.step or kept.truth == self.on_timeout:
            if self.model.can_undo:
                self.model.undo(kept.x, kept.step)
            self.told_apart["revised"] += (kept.predicted != truth) - (kept.predicted != kept.truth)
            kept.step = self.model.learn(kept.x, truth)
            self._know(kept, truth)
            self._count("corrected")
        else:
            self._count("rejected")
        self.told_apart["assumed"] -= kept.is_provisional
        kept.is_provisional = False

    def _know(self, kept, truth):
        kept.truth = truth
        if self.windows is not None:
            self.windows.learn(kept.taken, truth)

    def _count(self, outcome):
        self.labels[outcome] = self.labels.get(outcome, 0) + 1

    def _truth(self, label):
        if label is None or len(self.classes) > 2:
            return label
        if isinstance(label, str):
            return label == self.classes[1]
        return label == 1

    def _spell(self, truth):
        return truth if isinstance(truth, str) else self.spelling[truth]

    def _spell_like(self, label):
        """Write in the label values of the stream: true/false, 1/-1 or 1/0; names stay names."""
        if self.classes or isinstance(label, str):
            return
        if isinstance(label, bool):
            self.spelling = (False, True)
        elif label == -1:
            self.spelling = (-1, 1)
        elif label == 0:
            self.spelling = (0, 1)
        elif isinstance(self.spelling[1], bool):
            self.spelling = (-1, 1)
