"""The fast form of the engine is the reference: the same outputs, dead letters and state, to the byte."""

import json
import operator
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perceptron_core import COMPILED
from perceptron_core.formats.packed import pack, unpack
from perceptron_core.weights.feature_array import FeatureArray
from service.partition import processor
from service.partition.factory import make_processor
from service.settings.mapping import EventSettings
from service.stream.protocol import Record
from tests.service import building
from tests.service.poison import MAX_MESSAGE_BYTES, POISON
from tests.support.example_counts import n_examples

pytestmark = pytest.mark.skipif(not COMPILED, reason="there is no fast form")

NOW_MS = 1_000_000
LATEST_MS = NOW_MS + 3_600_000
MODELS = [
    "perceptron",
    "averaged-perceptron",
    "passive-aggressive",
    "arow",
    "normalized-adagrad",
    "coin-betting",
]
FEW = st.sampled_from
IDS = FEW(["a", "b", "c", "é", "i" * 256])
LABELS = FEW([True, False, 1, 0, -1, "ham", "spam", "maybe", None])
VALUES = st.floats(-9, 9) | st.integers(-3, 3) | st.booleans() | FEW(["en", "ö", 1e99, 1e101, 2**70])
FEATURES = st.dictionaries(FEW(["f", "g", "h", "tenant=a", "text=x"]), VALUES, max_size=5)
TEXTS = FEW(["", "win", "win a prize", 'with "quotes"', "x" * 5000])
WEIGHTS = FEW([0, 0.25, 1, 3, 1e12, None, -1, "2"])
EVENTS = st.fixed_dictionaries(
    {"id": IDS},
    optional={
        "features": FEATURES | st.none(),
        "text": TEXTS | st.none(),
        "label": LABELS,
        "weight": WEIGHTS,
    },
)
NUMBERS = st.fixed_dictionaries(
    {"id": IDS, "features": st.fixed_dictionaries(dict.fromkeys("fgh", st.floats(-9, 9)))},
    optional={"label": st.booleans()},
)
MESSAGES = (
    EVENTS | NUMBERS | st.fixed_dictionaries({"id": IDS, "label": LABELS}, optional={"weight": WEIGHTS})
)
TIMES = st.integers(0, 3000) | FEW([*range(0, 60_000, 5000), -1, LATEST_MS, LATEST_MS + 1, 2**62])
ROWS = st.lists(
    st.tuples(
        MESSAGES.map(lambda message: json.dumps(message).encode())
        | FEW([value for value, _ in POISON.values()]),
        FEW(["events", "labels"]),
        TIMES,
    ),
    max_size=40,
)
DECISIONS = [
    {"name": "sure", "min_precision": 0.5},
    {"name": "rare", "max_false_positive_rate": 0.4},
    {"name": "most", "min_recall": 0.4, "class": "false"},
    {"name": "given", "threshold": 0.6},
    {"name": "few", "max_rate": "2/minute"},
    {"name": "cheap"},
]
COSTS = {"false_positive": 1, "false_negative": 5}
DECIDING = FEW(
    [
        {},
        {"costs": COSTS},
        *({"decisions": each, "costs": COSTS} for each in (DECISIONS, DECISIONS[4:], DECISIONS[::-1])),
    ]
)
SETTINGS = st.builds(
    operator.or_,
    DECIDING,
    st.fixed_dictionaries(
        {
            "model": FEW(MODELS),
            "hash_bits": FEW([0, 0, 8, 16]),
            "classes": FEW([(), (), ("ham", "spam")]),
            "normalize": FEW(["none", "none", "l2"]),
            "label_timeout_seconds": FEW([1.0, 10.0, 1000.0]),
            "max_pending": FEW([1, 3, 1000]),
            "events": FEW([EventSettings(), EventSettings(), EventSettings(label_on_timeout="false")]),
            "max_message_bytes": st.just(MAX_MESSAGE_BYTES),
            "drift": FEW([{}, {"reaction": "record", "labels_between_false_alarms": 1000}]),
        }
    ),
)


def is_fast(processor):
    """Return the metric `perceptron_fast_path`."""
    return next(
        each.value for part in processor.parts() for each in part.metrics() if each.metric == "fast_path"
    )


def both(given):
    """Make the two forms of a processor, each with the list of what its observers saw."""
    made = []
    for uses_fast_path in (True, False):
        steps = []
        processor = make_processor(building.settings(**given), steps.extend, uses_fast_path=uses_fast_path)
        made.append((processor, steps))
    return made


def records(rows):
    return [
        Record(topic, 0, offset, time_ms, None, value) for offset, (value, topic, time_ms) in enumerate(rows)
    ]


@settings(max_examples=n_examples(300))
@given(SETTINGS, ROWS, st.lists(st.integers(0, 40), max_size=4), st.booleans(), st.booleans())
def test_outputs_and_state_equal_the_reference(given, rows, cuts, is_bounded, swaps):
    (quick, quick_steps), (plain, plain_steps) = both(given)
    assert (is_fast(quick), is_fast(plain)) == (True, False)
    processing_time_ms = NOW_MS if is_bounded else None
    for begin, end in pairwise([0, *sorted(cuts), len(rows) + 40]):
        part = records(rows)[begin:end]
        mine, its = (
            quick.process_batch(part, processing_time_ms),
            plain.process_batch(part, processing_time_ms),
        )
        assert list(mine.outputs) == list(its.outputs)
        assert mine.dead_letters == its.dead_letters
        assert building.values_of(quick_steps) == building.values_of(plain_steps)
        state, other = (b"".join(each.state().chunks) for each in (quick, plain))
        assert state == other
        assert list(quick.counters.labels) == list(plain.counters.labels)
        if swaps:  # a snapshot of one form opens in the other
            quick.restore(unpack(other))
            plain.restore(unpack(state))


SEVERAL = st.fixed_dictionaries(
    {
        "model": FEW(
            ["perceptron", "averaged-perceptron", "arow", "passive-aggressive", "normalized-adagrad"]
        ),
        "hash_bits": FEW([0, 8, 16]),
        "classes": st.just(("true", "false", "maybe")),
        "normalize": FEW(["none", "l2"]),
        "max_message_bytes": st.just(MAX_MESSAGE_BYTES),
    }
)
VECTORS = st.lists(st.floats(-9, 9), min_size=2, max_size=2) | FEW(
    [[1, 2.5], [None, 1.0], [1e101, 0.0], [1.0]]
)
MAPPED = st.fixed_dictionaries(
    {"id": FEW("abcdefgh"), "e": VECTORS},
    optional={
        "f": st.lists(st.floats(-9, 9), min_size=300, max_size=300),
        "lang": FEW(["en", "de"]),
        "g": VALUES,
        "text": FEW(["", "win a prize"]),
        "label": FEW(["true", "false"]),
        "mail": FEW(["a", "b"]),
    },
)


@settings(max_examples=n_examples(150))
@given(
    SETTINGS.map(lambda given: given | {"classes": ("false", "true")}) | SEVERAL,
    FEW([{}, {"tenant": "mail"}, {"windows": [{"by": "mail", "over": ["1h"], "of": {"@event": ["count"]}}]}]),
    st.lists(st.tuples(MAPPED, TIMES), max_size=12),
)
def test_vectors_as_arrays_give_the_results_of_the_reference(given, mapping, rows):
    given["events"] = {"vectors": ["e", "f"], "features": "*", "text": "text", **mapping}
    (quick, quick_steps), (plain, plain_steps) = both(given)
    rows = [(json.dumps(document).encode(), "events", time_ms) for document, time_ms in rows]
    mine, its = quick.process_batch(records(rows)), plain.process_batch(records(rows))
    assert list(mine.outputs) == list(its.outputs)
    assert building.values_of(quick_steps) == building.values_of(plain_steps)
    assert b"".join(quick.state().chunks) == b"".join(plain.state().chunks)
    assert quick.join.size_bytes == plain.join.size_bytes


@pytest.mark.parametrize("bits", [0, 16])
def test_vectors_stay_arrays_where_there_are_several_classes(bits):
    mapping = {"vectors": "e", "features": "*", "text": "text"}
    (quick, _), _ = both({"classes": ("a", "b", "c"), "hash_bits": bits, "events": mapping})
    event = {"id": "a", "n": 1, "e": [1.0, 2.0], "text": "win", "label": "b"}
    quick.process_batch(records([(json.dumps(event).encode(), "events", 0)]))
    assert isinstance(quick.join.examples.get("a").features(), FeatureArray)


@pytest.mark.parametrize("model", ["perceptron", "normalized-adagrad"])
def test_fast_path_decides_as_the_reference_while_thresholds_change(model):
    draw = random.Random(3)
    given = {"model": model, "decisions": DECISIONS, "costs": COSTS, "decisions_half_life": 200}
    (quick, _), (plain, _) = both(given)
    for begin in range(0, 3000, 150):
        rows = []
        for n in range(begin, begin + 150):
            x, is_late = draw.gauss(0, 1), draw.random() < 0.5
            label = {"label": x + draw.gauss(0, 0.5) > 1}
            event = {"id": f"e{n}", "features": {"f": x}} | ({} if is_late else label)
            rows.append((json.dumps(event).encode(), "events", 10_000 * n))
            if is_late:
                rows.append((json.dumps({"id": f"e{n}"} | label).encode(), "labels", 10_000 * n))
        mine, its = quick.process_batch(records(rows)), plain.process_batch(records(rows))
        assert list(mine.outputs) == list(its.outputs)
        if begin == 1200:
            quick.restore(unpack(pack(plain.state())))
    assert pack(quick.state()) == pack(plain.state())
    (part,) = quick.optional_parts
    assert sum(rule.n_decided > 0 for rule in part.rules) >= 3


@pytest.mark.parametrize(
    "given",
    [
        {"model": "auto"},
        {"classes": ("a", "b", "c")},
        {"classes": ("true", "false")},
        {"model": "voted-perceptron"},
        {"events": EventSettings(id="key", features="*")},
    ],
    ids=["auto", "several classes", "classes that are label values", "no rule", "mapped"],
)
def test_uncommon_settings_select_the_reference_engine(given):
    assert not is_fast(make_processor(building.settings(**given)))


def test_without_machine_code_the_reference_is_used(monkeypatch):
    monkeypatch.setattr(processor, "FastPath", None)
    assert not is_fast(make_processor(building.settings()))


def test_fast_engine_predicts_with_a_replaced_model():
    feed = building.Feed()
    empty = feed.processor.learner.dump()
    feed(building.event("a", label=True))
    feed.processor.replace_model(empty)
    assert feed.output_of(building.event("b"))["score"] == 0.0
    assert is_fast(feed.processor)
