"""Count the mistakes of `auto` beside those of others on the same events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from perceptron_core import AutoClassifier

from .contestants import Makers, ours, river
from .entries import Entry, Runs, entry
from .prequential import Condition, Model, wrongs
from .report import note, progress, row, rule
from .streams import Examples, Kind, Stream
from .vowpal_wabbit import vowpal_wabbit

_QUICK_EVENTS = 2_000
_WORSE_THAN_SINGLE = 1.02
_SEEDS_APART = 0.03


@dataclass(frozen=True)
class Comparison:
    """What is compared, and how."""

    data: Path
    streams: Sequence[Stream]
    condition: Condition
    seed: int
    quick: bool
    patience_seconds: float
    vw: str | None

    def orders(self, stream: Stream) -> list[Examples]:
        """Return the examples of a stream, in each of its orders, with labels as the condition has them."""
        found = [self.condition.applied(examples) for examples in stream.orders(self.data)]
        return [examples[:_QUICK_EVENTS] for examples in found[:1]] if self.quick else found

    def auto(self, seed: int | None = None) -> AutoClassifier:
        """Make an `AutoClassifier`, with nothing chosen."""
        return AutoClassifier(seed=self.seed if seed is None else seed)

    def runs(
        self, make: Callable[[], Model], orders: Sequence[Examples], patience: float = float("inf")
    ) -> Runs:
        """Run a fresh model over each order."""
        return [wrongs(make(), examples, self.condition, patience) for examples in orders]


def mistakes(comparison: Comparison) -> None:
    """Print mistakes of `auto`, and of the best of each of the others."""
    title = "Mistakes in one pass, the prediction before the label; means where a stream has several orders"
    condition = str(comparison.condition)
    titles = ("events", "auto", "to reach", "best single of ours", "best of River", "best of VW", "verdict")
    rule(title + (f"; {condition}" if condition else ""), titles, (7, 9, 8, 52, 34, 54, 30))
    incomplete: list[str] = []
    for stream in comparison.streams:
        _compare(comparison, stream, incomplete)
    for line in incomplete:
        note(line)


def _compare(comparison: Comparison, stream: Stream, incomplete: list[str]) -> None:
    orders = comparison.orders(stream)
    progress(f"{stream.name}: auto")
    auto = comparison.runs(comparison.auto, orders)
    single = _entries(comparison, stream, orders, auto, ours(stream.kind))
    rivers = _entries(comparison, stream, orders, auto, river(stream.kind))
    vw = _of_vowpal_wabbit(comparison, stream, orders, auto)
    best = [
        min(entries, key=lambda each: each.ratio) if entries else None for entries in (single, rivers, vw)
    ]
    found = fmean(map(sum, auto))
    has_goal = not str(comparison.condition) and not comparison.quick
    row(
        stream.name,
        f"{len(orders[0]):,}",
        f"{found:,.6g}",
        f"{stream.to_reach:,}" if has_goal else "–",
        *(each.cell if each else "–" for each in best),
        _verdict(found <= stream.to_reach if has_goal else None, *best),
    )
    incomplete += [
        f"{stream.name}: {each.name} was stopped after {each.events:,} events: {each.ratio:.3f} mistakes"
        " for each of auto on the same events"
        for each in (*single, *rivers)
        if not each.is_complete
    ]


def _entries(
    comparison: Comparison, stream: Stream, orders: Sequence[Examples], auto: Runs, makers: Makers
) -> list[Entry]:
    found = []
    for name, make in makers.items():
        progress(f"{stream.name}: {name}")
        found.append(entry(name, comparison.runs(make, orders, comparison.patience_seconds), auto))
        progress(f"{stream.name}: {found[-1].cell}")
    return found


def _of_vowpal_wabbit(
    comparison: Comparison, stream: Stream, orders: Sequence[Examples], auto: Runs
) -> list[Entry]:
    if comparison.vw is None or stream.kind is Kind.SEVERAL_CLASSES:
        return []
    progress(f"{stream.name}: Vowpal Wabbit")
    runs: dict[str, Runs] = {}
    for examples in orders:
        for setting, found in vowpal_wabbit(
            comparison.vw, stream.kind, examples, comparison.condition
        ).items():
            runs.setdefault(setting, []).append(found)
    return [entry(setting, theirs, auto) for setting, theirs in runs.items()]


def _verdict(reached: bool | None, single: Entry | None, rivers: Entry | None, vw: Entry | None) -> str:  # noqa: FBT001 - a figure of several
    """Name what `auto` failed at; "all" where it failed at nothing."""
    failed = [
        name
        for name, holds in (
            ("goal", reached is not False),
            ("single", not single or single.ratio * _WORSE_THAN_SINGLE >= 1),
            ("River", not rivers or rivers.ratio > 1),
            ("VW", not vw or vw.ratio > 1),
        )
        if not holds
    ]
    return f"NOT: {', '.join(failed)}" if failed else "all"


def seeds(comparison: Comparison) -> None:
    """Print the mistakes of `auto` from two seeds."""
    first, second = comparison.seed, comparison.seed + 1
    titles = ("events", f"seed {first}", f"seed {second}", "apart", "verdict")
    rule("Mistakes of auto from two seeds", titles)
    for stream in comparison.streams:
        progress(f"{stream.name}: two seeds")
        orders = comparison.orders(stream)
        one, other = (
            fmean(map(sum, comparison.runs(lambda seed=seed: comparison.auto(seed), orders)))  # type: ignore[misc]
            for seed in (first, second)
        )
        apart = abs(one - other) / max(one, other, 1)
        verdict = "reached" if apart < _SEEDS_APART else "NOT REACHED"
        row(stream.name, f"{len(orders[0]):,}", f"{one:,.6g}", f"{other:,.6g}", f"{apart:.2%}", verdict)


def chance(comparison: Comparison) -> None:
    """Print the mistakes of `auto` where the labels are shuffled, beside those of the most frequent class."""
    titles = ("events", "auto", "most frequent", "ratio")
    rule("Mistakes of auto with shuffled labels; below 1 would be better than chance", titles)
    for stream in comparison.streams:
        progress(f"{stream.name}: shuffled labels")
        orders = comparison.orders(stream)
        found = fmean(map(sum, comparison.runs(comparison.auto, orders)))
        constant = fmean(len(order) - max(Counter(y for _, y in order).values()) for order in orders)
        row(
            stream.name, f"{len(orders[0]):,}", f"{found:,.6g}", f"{constant:,.6g}", f"{found / constant:.3f}"
        )
