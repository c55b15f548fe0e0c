"""Windows by key against a loop over all events, against pandas, and against the exact numbers."""

import itertools
import random
import struct
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import DamagedError
from perceptron_core.formats.packed import pack
from service.partition.parts import windows as compiled
from service.partition.parts.window_cells import EVENTS, KINDS
from service.partition.parts.window_keys import with_changes
from service.partition.parts.windows import Output, Window
from tests.service.partition.windows.reference import CELLS, LoopWindow

NAN = float("nan")
SECOND_MS = 1000
HOUR_MS, DAY_MS = 3_600_000, 86_400_000
YEAR_MS = 365 * DAY_MS
SPANS = [90 * SECOND_MS, HOUR_MS, YEAR_MS]
START_MS = 1_700_000_000_000

numbers = st.none() | st.integers(-9, 9).map(float) | st.floats(-1e6, 1e6)
steps = st.one_of(
    st.integers(0, 2000), st.integers(-200_000, 200_000), st.integers(-2 * HOUR_MS, 2 * HOUR_MS),
    st.sampled_from([0, -1, 90_000, -90_000, YEAR_MS, YEAR_MS // 16, -YEAR_MS]),
)  # fmt: skip
digests = st.sampled_from([0, 0, 1, -1, 2**63 - 1, -(2**63), 64]) | st.integers(-(2**63), 2**63 - 1)
rows = st.lists(
    st.tuples(st.integers(-2, 2), steps, numbers, digests, st.booleans() | st.none()), min_size=1, max_size=60
)


def made(spans_ms=SPANS, max_keys=100, kind=Window):
    outputs = [
        Output(code, 0, [f"{name}_{span_ms}" for span_ms in spans_ms])
        for name, code in {"events": EVENTS, **KINDS}.items()
    ]
    module = sys.modules[kind.__module__]
    outputs = [module.Output(*output) for output in outputs]
    return kind(spans_ms, 1, 1, outputs, "since", max_keys)


def interpreted():
    """Return the window that runs without compiled code."""
    folder, names = Path(compiled.__file__).parent, ("window_keys", "window_cells", "windows")
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            full = f"service.partition.parts.{name}"
            spec = spec_from_file_location(full, folder / f"{name}.py")
            module = module_from_spec(spec)
            patch.setitem(sys.modules, full, module)
            spec.loader.exec_module(module)
        return module.Window


INTERPRETED = interpreted()


def features(window, key, at_ms):
    found = {}
    window.add_features(found, key, at_ms)
    return found


def feed(window, rows, start_ms=START_MS):
    """Take events; yield the features of each before it is taken."""
    at_ms, places = start_ms, []
    for n, (key, step_ms, number, digest, truth) in enumerate(rows):
        at_ms += step_ms
        yield key, at_ms, number, digest, features(window, key, at_ms)
        window.count_event(key, at_ms, [NAN if number is None else number], [digest])
        places.append((key, at_ms))
        if truth is not None:  # of an earlier event, at times
            window.count_label(*places[n // 2 if n % 3 else n], -1, truth)


@given(rows, st.integers(1, 4))
def test_window_features_equal_a_direct_computation(rows, max_keys):
    window, loop = made(max_keys=max_keys), LoopWindow(SPANS, max_keys)
    at_ms, taken, n_late = START_MS, [], 0
    for n, (key, step_ms, number, digest, truth) in enumerate(rows):
        at_ms += step_ms
        expected = loop.values(key, at_ms)
        assert features(window, key, at_ms) == pytest.approx(expected, rel=1e-9, abs=1e-3)
        n_late += window.count_event(key, at_ms, [NAN if number is None else number], [digest])
        taken.append((key, at_ms, loop.take(key, at_ms, number, digest), []))
        labelled, then_ms, place, known = taken[n // 2 if n % 3 else n]
        is_there = any(event["place"] == place for event in loop.keys.get(labelled, ()))
        if truth is not None and (is_there or labelled not in loop.keys) and known != [truth]:
            window.count_label(labelled, then_ms, known[-1] if known else -1, truth)
            loop.learn(labelled, place, truth)
            known[:] = [truth]
    assert n_late == loop.n_late
    assert window.keys.n == len(loop.keys)


@given(rows)
def test_counts_and_sums_cover_a_sixteenth_more_at_most(rows):
    window, events = made(), []
    rows = [(key, abs(step_ms), number, digest, truth) for key, step_ms, number, digest, truth in rows]
    for key, at_ms, number, _, found in feed(window, rows):
        for span_ms in SPANS:
            mine = [x for k, t, x in events if k == key and t > at_ms - span_ms]
            more = [x for k, t, x in events if k == key and t > at_ms - span_ms * (CELLS + 1) / CELLS]
            assert len(mine) <= found[f"events_{span_ms}"] <= len(more)
            if any(x is not None for x in mine):
                assert found[f"max_{span_ms}"] >= max(x for x in mine if x is not None)
                assert found[f"min_{span_ms}"] <= min(x for x in mine if x is not None)
        events.append((key, at_ms, number))


def test_changes_hold_the_keys_touched_and_their_neighbours():
    window = made()
    for key in range(100):
        window.count_event(key, START_MS, [1.0], [5])
    window.forget_changes()
    assert len(window.changes()["cells"]["rows"]) == 0
    window.count_event(50, START_MS, [1.0], [5])
    changes = window.changes()
    found = [
        [*struct.iter_unpack("<i", each["rows"])] for each in (changes, changes["keys"], changes["cells"])
    ]
    assert found == [[(50,)], [(49,), (50,), (51,), (99,)], [(150,), (151,), (152,)]]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rows", struct.pack("<i", 1)),
        ("rows", struct.pack("<i", -1)),
        ("rows", b"1"),
        ("n", 0),
        ("newest_ms", b"1"),
        ("newest_ms", bytes(16)),
        ("heads", b""),
    ],
)
def test_invalid_changes_are_rejected(name, value):
    window = made()
    window.count_event(1, START_MS, [1.0], [5])
    state = window.state()
    window.count_event(1, START_MS + 1, [1.0], [5])
    with pytest.raises(DamagedError, match="windows"):
        made().restore(with_changes(state, {**window.changes(), name: value}))


@given(rows, st.integers(1, 4))
def test_compiled_and_interpreted_windows_are_identical(rows, max_keys):
    one, other = made(max_keys=max_keys), made(max_keys=max_keys, kind=INTERPRETED)
    for mine, others in zip(feed(one, rows), feed(other, rows), strict=True):
        assert pack(mine) == pack(others)
    assert pack(one.changes()) == pack(other.changes())
    assert pack(one.state()) == pack(other.state())


def test_memory_is_bounded_for_any_number_of_keys():
    window = made(max_keys=50)
    for n in range(20_000):
        window.count_event(n * n % 997 - 400, START_MS + 50_000 * n, [1.0], [n])
    assert window.keys.n == 50
    assert len(window.state()["cells"]["next"]) <= 4 * 50 * len(SPANS) * (CELLS + 1)


def test_label_of_an_evicted_key_is_ignored():
    window = made(max_keys=1)
    window.count_event(1, START_MS, [1.0], [0])
    window.count_event(2, START_MS, [1.0], [0])
    window.count_label(1, START_MS, -1, 1)
    window.count_event(1, START_MS, [1.0], [0])  # in the same cell as the one that was forgotten
    window.count_label(1, START_MS, 1, 0)
    window.count_label(1, START_MS, 0, 1)
    assert f"rate_{HOUR_MS}" not in features(window, 1, START_MS)


def test_overflowing_sums_make_no_feature():
    window = made([HOUR_MS])
    for _ in range(3):
        window.count_event(1, START_MS, [1e100], [0])
    found = features(window, 1, START_MS)
    assert f"sum_{HOUR_MS}" not in found
    assert found[f"mean_{HOUR_MS}"] == pytest.approx(1e100)
    assert found[f"std_{HOUR_MS}"] == pytest.approx(0, abs=1e90)


@pytest.mark.parametrize("at_ms", [-1, 0, -(2**63), 2**63 - 1])
def test_window_accepts_any_event_time(at_ms):
    window = made()
    window.count_event(1, START_MS, [1.0], [5])
    features(window, 1, at_ms)
    window.count_event(1, at_ms, [2.0], [5])
    assert features(window, 1, at_ms)[f"events_{HOUR_MS}"] == (at_ms > START_MS)  # the others came too late


def test_little_spread_around_large_numbers_is_not_lost():
    window, values = made([HOUR_MS]), [1e9 + n % 2 for n in range(1000)]
    for n, value in enumerate(values):
        window.count_event(1, START_MS + 2000 * n, [value], [0])
    assert features(window, 1, START_MS + 2_000_000)[f"std_{HOUR_MS}"] == pytest.approx(0.5, rel=1e-6)


@pytest.mark.parametrize("n", [1, 10, 50, 100, 300, 1000, 10_000])
def test_distinct_values_are_estimated_within_four_standard_errors(n):
    draw, window = random.Random(n), made([YEAR_MS])
    for digest, at in zip(
        itertools.cycle([draw.getrandbits(64) - 2**63 for _ in range(n)]), range(2 * n), strict=False
    ):
        window.count_event(1, START_MS + 1000 * at, [1.0], [digest])
    assert features(window, 1, START_MS + 2000 * n)[f"distinct_{YEAR_MS}"] == pytest.approx(n, rel=4 * 0.13)


@pytest.mark.parametrize(
    ("place", "name", "value"),
    [
        ("cells", "next", b"\xff\xff\xff\x7f" * 3),
        ("cells", "free", 9),
        ("cells", "free", 0),
        ("cells", "next", struct.pack("<3i", 1, 0, -1)),
        ("cells", "registers", b"\xff" * 192),
        ("cells", "counts", b""),
        ("cells", "numbers", b"123"),
        ("keys", "older", b"\x09\0\0\0"),
        ("keys", "hashes", b"12345678" * 2),
        ("keys", "newest", 1),
        ("keys", "newest", -1),
        ("keys", "newer", bytes(4)),
        ("keys", "oldest", -1),
        (None, "heads", b"\xff\xff\xff\x7f" * 3),
        (None, "heads", bytes(12)),
        (None, "newest_ms", b""),
    ],
)
def test_damaged_state_is_rejected(place, name, value):
    window = made()
    window.count_event(1, START_MS, [1.0], [5])
    state = window.state()
    (state[place] if place else state)[name] = value
    with pytest.raises(DamagedError, match="windows"):
        made().restore(state)
