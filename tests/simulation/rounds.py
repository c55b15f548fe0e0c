"""The shared model, for the oracle: bases and shifts computed from committed contributions.

The arithmetic is written from `docs/` once more, in dictionaries; of the core only the decoding of a
contribution is used, whose content is then compared with what the lane had learned.
"""

from __future__ import annotations

from itertools import islice
from math import copysign, floor
from typing import NamedTuple

from perceptron_core.sharing.contribution import OF_LEARNER, read

ROUNDING = 1e-7
"""A contribution holds 24 bits of a shift."""

BIAS = ()
"""Stands for the name of a feature."""


class Given(NamedTuple):
    """A contribution as it lies in its lane."""

    lane: int
    start: int
    round: int
    n_lanes: int
    kept: int
    value: bytes
    place: int
    """Number of its transaction among all."""
    offset: int


def given(record, place):
    """Read a record of a lane."""
    numbers = {name: int(number) for name, number in record.headers}
    return Given(
        record.partition,
        *(numbers[name] for name in ("start", "round", "lanes", "kept")),
        record.value,
        place,
        record.offset,
    )


class Shifts:
    """What a contribution says: a shift and a count for each number, which is named by class and feature."""

    def __init__(self, value):
        found = read(value)
        self.base, self.n_updates = found.base, found.n_updates
        self.names = list(found.coordinates)
        self.counts = list(found.counts)
        self.shifts = {}
        self.weights = {}
        for block in found.blocks:
            (column,) = block.columns
            for row, shift in zip(block.rows, column, strict=True):
                is_bias = block.of == OF_LEARNER
                key = block.label, BIAS if is_bias else self.names[row]
                self.shifts[key] = shift
                self.weights[key] = self.n_updates if is_bias else self.counts[row]


class Shares:
    """All shares of a run: the contributions by round, and the bases that they make."""

    def __init__(self, transactions):
        self.rounds = {}
        self.by_lane = {}
        for place, transaction in enumerate(transactions):
            for record in transaction.outputs:
                if record.topic == "mixes":
                    each = given(record, place)
                    self.rounds.setdefault((each.start, each.round), {}).setdefault(each.lane, each)
                    self.by_lane.setdefault(each.lane, []).append(each)
        self._mixes = {}
        self._bases = {}
        self._shifts = {}
        self._members = {}

    def shifts(self, each):
        """Decode a contribution."""
        if each not in self._shifts:
            self._shifts[each] = Shifts(each.value)
        return self._shifts[each]

    def members(self, start, number):
        """Return how many lanes a round has: those that any contribution to an earlier one has named."""
        if (start, number) not in self._members:
            before = self.rounds.get((start, number - 1), {}).values()
            earlier = self.members(start, number - 1) if number > start else 1
            self._members[start, number] = max([earlier, *(each.n_lanes for each in before)])
        return self._members[start, number]

    def complete(self, start, number):
        """Return the contributions to a round in the order of the lanes; None if one is missing."""
        found = self.rounds.get((start, number), {})
        lanes = range(self.members(start, number))
        return [found[lane] for lane in lanes] if all(lane in found for lane in lanes) else None

    def are_closed(self, n_partitions):
        """Return whether the newest round is complete, and all partitions are lanes of the next one."""
        if not self.rounds:
            return False
        start, number = max(self.rounds)
        return self.complete(start, number) is not None and self.members(start, number + 1) == n_partitions

    def mix(self, start, number):
        """Return what a round adds to the base, by class and feature."""
        if (start, number) not in self._mixes:
            found = [] if start == number else self.complete(start, number)
            self._mixes[start, number] = _mixed(map(self.shifts, found))
        return self._mixes[start, number]

    def base(self, start, number):
        """Return the base after a round."""
        if number < start + 1:
            return {}
        if (start, number) not in self._bases:
            base = dict(self.base(start, number - 1))
            for key, change in self.mix(start, number).items():
                base[key] = base.get(key, 0.0) + change
            self._bases[start, number] = base
        return self._bases[start, number]


def _mixed(lanes):
    """Add up all lanes, in their order."""
    shifts = {}
    for each in lanes:
        for key, shift in each.shifts.items():
            shifts.setdefault(key, []).append((shift, each.weights[key]))
    return {key: _mean(found) for key, found in shifts.items()}


def _mean(found):
    """Compute θ·Σ s + (1 − θ)·Σ c·s / Σ c with θ = 1 / (1 + Σ c); one lane's shift alone is as it is.

    It is whole where all shifts are.
    """
    total = weighted = weight = 0.0
    for shift, count in found:
        total += shift
        weighted += count * shift
        weight += count
    if weighted == total * weight or weight == 0:
        return total
    theta = 1.0 / (1.0 + weight)
    mean = theta * total + (1.0 - theta) * (weighted / weight)
    if all(shift == floor(shift) for shift, _ in found):
        return copysign(floor(abs(mean) + 0.5), mean)
    return mean


class SharedModel:
    """A model of the oracle as one lane; it learns as ever.

    Parameters
    ----------
    model
        Of `oracle`.

    """

    def __init__(self, model):
        self.model = model
        self.touched = {}
        self.n_updates = 0
        self.learned = {}
        """How often each feature was updated ever."""
        self.contributed = {}
        """How many of these updates were contributed, or forgotten with a state."""

    can_undo = property(lambda self: self.model.can_undo)
    updates = property(lambda self: self.model.updates)

    def assess(self, x):
        return self.model.assess(x)

    def learn(self, x, truth):
        step = self.model.learn(x, truth)
        self._note(x, step)
        return step

    def undo(self, x, step):
        self.model.undo(x, step)
        self._note(x, step)

    def state(self):
        return self.model.state()

    def _note(self, x, step):
        if not step:
            return
        self.n_updates += 1
        for name, value in x.items():
            if value:
                self.touched[name] = self.touched.get(name, 0) + 1
                self.learned[name] = self.learned.get(name, 0) + 1

    def take(self, n):
        """Take the first n features that were updated: they are contributed."""
        for name in [*islice(self.touched, n)]:
            self.contributed[name] = self.contributed.get(name, 0) + self.touched.pop(name)
        self.n_updates = 0

    @property
    def is_complete(self):
        """Whether contributed and pending updates are all that were made."""
        names = self.learned.keys() | self.contributed.keys() | self.touched.keys()
        return all(
            self.learned.get(name, 0) == self.contributed.get(name, 0) + self.touched.get(name, 0)
            for name in names
        )

    def vectors(self):
        """Return the weight vectors by class; of two classes, the one of None."""
        return getattr(self.model, "vectors", None) or {None: self.model}

    def get(self, key):
        """Return a weight or a bias."""
        label, name = key
        vector = self.vectors()[label]
        return vector.bias if name == BIAS else vector.weights.get(name, 0.0)

    def put(self, key, value):
        """Replace a weight or a bias."""
        label, name = key
        vector = self.vectors()[label]
        if name == BIAS:
            vector.bias = value
        elif value:
            vector.weights[name] = value
        else:
            vector.weights.pop(name, None)

    def forget(self, fresh):
        """Go on with an untrained model: a former state of the partition is lost."""
        self.model = fresh
        self.contributed = dict(self.learned)
        self.touched, self.n_updates = {}, 0


class Lane:
    """One partition's part in the rounds, as its progress records tell it.

    Parameters
    ----------
    lane
        The partition.
    shares
        The contributions of all.
    model
        Of `oracle`; shared from the beginning.
    make
        Makes an untrained one.
    expect
        Called with what must hold, and its name.
    may_lack_opening
        Whether the first round may have been deleted, by others.

    """

    def __init__(self, lane, shares, model, make, expect, *, may_lack_opening):
        self._lane = lane
        self._shares = shares
        self.model = model
        self._make = make
        self._expect = expect
        self._may_lack_opening = may_lack_opening
        self.start = self.round = self.sent = self.taken_over = -1

    def begins(self, told):
        """Return whether a partition begins to take part with the transaction that tells this."""
        return bool(told) and told["start"] != self.start

    def before(self, told, place, own, adopted=None):
        """Live the rounds before a batch, which a transaction tells; `adopted` is a base taken over."""
        if not told:
            self._expect(self.start < 0, "a lane leaves the share")
            return
        if told["start"] != self.start:
            self._begin(told, place, own, adopted)
        self._expect(told["round"] >= self.round, "a lane goes back")
        while self.round < told["round"]:
            self.apply(place)

    def _opens(self, told, own):
        return self._lane == 0 and own is not None and own.round == told["start"]

    def _may_begin(self, start, place):
        opening = self._shares.rounds.get((start, start), {}).get(0)
        self._expect(opening is not None and opening.place <= place, f"share {start} was never opened")
        return self._lane < opening.n_lanes and not self._contributions(start, place)

    def _contributions(self, start, place):
        """Return this lane's contributions to a share before a transaction."""
        mine = self._shares.by_lane.get(self._lane, ())
        return [each for each in mine if each.start == start and each.place < place]

    def _begin(self, told, place, own, adopted):
        start = told["start"]
        self._expect(start > self.start, f"share {start} after {self.start}")
        if self._opens(told, own):
            self.start, self.round, self.sent, self.taken_over = start, start - 1, start - 1, -1
        elif adopted is None:
            self._expect(self._may_begin(start, place), "begins with a round that it was no lane of")
            self.start = self.round = self.sent = start
            self.taken_over = -1
        else:
            is_needed = self._may_lack_opening or not self._may_begin(start, place)
            self._expect(is_needed, "takes a base over, and could have begun with the first round")
            sent = max((each.round for each in self._contributions(start, place)), default=-1)
            if self.start >= 0 or sent >= 0:
                self.model.forget(self._make())
            for key, value in self._shares.base(start, adopted).items():
                self.model.put(key, value + self.model.get(key))
            self.start, self.round = start, adopted
            self.sent = self.taken_over = max(sent, adopted)

    def base(self):
        """Return what all lanes have in common."""
        return self._shares.base(self.start, self.round)

    def apply(self, place):
        """Apply the next round."""
        number = self.round + 1
        found = self._shares.complete(self.start, number)
        self._expect(
            found is not None and max(each.place for each in found) < place,
            f"round {number} is applied before it is complete",
        )
        old = self._shares.base(self.start, self.round)
        new = self._shares.base(self.start, number)
        is_own = self._lane < len(found) and number > self.taken_over and number > self.start
        own = self._shares.shifts(found[self._lane]).shifts if is_own else {}
        for key, change in self._shares.mix(self.start, number).items():
            if own.get(key) != change:
                shift = (self.model.get(key) - old.get(key, 0.0)) - own.get(key, 0.0)
                self.model.put(key, new[key] + shift)
        self.round = number
        self.sent = max(self.sent, number)

    def after(self, told, own, *, is_lossy):
        """Contribute after a batch, if a transaction does."""
        if own is not None:
            self._expect((own.lane, own.start) == (self._lane, self.start), "a contribution of another lane")
            self._expect(own.round == self.round + 1, f"contributes to {own.round} after {self.round}")
            self._expect(self.sent < own.round, f"contributes to {own.round} again")
            self._expect(
                self._lane < self._shares.members(own.start, own.round), f"is no lane of round {own.round}"
            )
            self.sent = own.round
            if own.round > own.start and not is_lossy:
                self._compare(own, told["checksum"])
            elif own.round > own.start:
                self.model.take(0)
        if told:
            numbers = {"start": self.start, "round": self.round, "sent": self.sent}
            found = {name: told[name] for name in numbers}
            self._expect(found == numbers, f"tells {found}, expected {numbers}")

    def _compare(self, own, checksum):
        """Compare a contribution with what was learned; it is taken then."""
        found, model = self._shares.shifts(own), self.model
        self._expect(found.base == (self.round - self.start, checksum), f"to the base {found.base}")
        self._expect(found.n_updates == model.n_updates, f"{found.n_updates} updates contributed")
        n = len(found.names)
        self._expect(
            [*zip(found.names, found.counts, strict=True)] == [*islice(model.touched.items(), n)],
            f"contributes {found.names} {found.counts}, updated {model.touched}",
        )
        base = self._shares.base(self.start, self.round)
        for label in model.vectors():
            for name in (*found.names, BIAS):
                key = label, name
                shift = model.get(key) - base.get(key, 0.0)
                contributed = found.shifts.get(key, 0.0)
                self._expect(
                    abs(contributed - shift) <= ROUNDING * abs(shift),
                    f"contributes {contributed} of {key}, learned {shift}",
                )
        model.take(n)
