"""Where a weight is kept changes no prediction: names, indices and arrays are three ways to say the same."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from perceptron_core import (
    AROW,
    AveragedPerceptron,
    FeatureError,
    HashedClassifier,
    KernelPerceptron,
    LabelError,
    Perceptron,
    Rows,
    from_bytes,
    to_bytes,
)
from tests.support.example_counts import n_examples
from tests.support.learners import LINEAR, any_of

BITS = 4
any_learner = any_of(LINEAR)

numbers = st.floats(-1e100, 1e100) | st.floats(-3, 3) | st.integers(-3, 3).map(float)
xs = st.dictionaries(st.integers(0, 2**BITS - 1), numbers, max_size=6)
of_all = settings(max_examples=n_examples(300), deadline=None)
streams = st.lists(st.tuples(xs, st.booleans(), st.sampled_from([1.0, 0.0, 0.3, 7.0])), max_size=20)


def rows_of(dictionaries):
    indptr = np.cumsum([0, *map(len, dictionaries)])
    indices = np.array([index for x in dictionaries for index in x], np.int32)
    values = np.array([value for x in dictionaries for value in x.values()], float)
    return Rows(indptr, indices, values)


def bits(numbers):
    return [float(number).hex() for number in numbers]


def told(model):
    """Return all that a model says of itself, in the order of the features."""
    own = {name: getattr(model, name) for name in ("weights", "bias", "n_mistakes", "n_updates")}
    return own | {"weights": dict(sorted(own["weights"].items()))}


@given(learner=any_learner, stream=streams)
@of_all
def test_hashed_and_named_dictionaries_give_the_same_bits(learner, stream):
    named, hashed = learner, HashedClassifier(learner, BITS)
    for x, y, w in stream:
        assert bits([hashed.score_one(x)]) == bits([named.score_one(x)])
        assert hashed.predict_one(x) is named.predict_one(x)
        assert hashed.predict_proba_one(x) == named.predict_proba_one(x)
        assert bits([hashed.update_one(x, y, w)]) == bits([named.update_one(x, y, w)])
    assert told(hashed) == told(named)


@given(learner=any_learner, stream=streams, cuts=st.sets(st.integers(1, 19)))
@of_all
def test_rows_give_the_same_bits_as_dictionaries(learner, stream, cuts):
    one_by_one = HashedClassifier(learner, BITS)
    scores, classes = [], []
    for x, y, w in stream:
        scores.append(one_by_one.score_one(x))
        classes.append(one_by_one.predict_one(x))
        one_by_one.learn_one(x, y, w)
    prequential, learned = HashedClassifier(learner, BITS), HashedClassifier(learner, BITS)
    found = []
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), None], strict=True):
        part = stream[start:end]
        rows, y, w = rows_of([x for x, _, _ in part]), [y for _, y, _ in part], [w for _, _, w in part]
        learned.learn_rows(rows, np.array(y, bool), np.array(w))
        found.append(prequential.predict_learn_rows(rows, y, w))
    assert bits(np.concatenate([part.scores for part in found])) == bits(scores)
    assert np.concatenate([part.classes for part in found]).tolist() == classes
    assert to_bytes(learned) == to_bytes(prequential) == to_bytes(one_by_one)
    everything = rows_of([x for x, _, _ in stream])
    assert bits(learned.score_rows(everything)) == bits(learned.score_one(x) for x, _, _ in stream)
    assert learned.predict_rows(everything).tolist() == [learned.predict_one(x) for x, _, _ in stream]


@given(learner=any_learner, before=streams, after=streams)
@of_all
def test_copy_of_any_kind_continues_like_the_original(learner, before, after):
    model = HashedClassifier(learner, BITS)
    for x, y, w in before:
        model.learn_one(x, y, w)
    copies = [
        from_bytes(to_bytes(model)),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        model.clone(include_attributes=True),
    ]
    for x, y, w in after:
        for each in (model, *copies):
            each.learn_one(x, y, w)
    assert [to_bytes(each) for each in copies] == [to_bytes(model)] * len(copies)


def test_learned_weights_of_the_given_learner_are_not_used():
    learner = Perceptron()
    learner.learn_one({"a": 1.0}, True)
    assert HashedClassifier(learner, 4).score_one({0: 1.0}) == 0.0


@pytest.mark.parametrize(
    "name", [-1, 2**BITS, 2**31, 2**70, True, "a", 1.0, None, (1,), np.uint64(2**64 - 1), np.float64(1)]
)
def test_non_index_feature_is_rejected_by_name(name):
    model = HashedClassifier(bits=BITS)
    for call in (model.score_one, model.predict_one, lambda x: model.learn_one(x, True)):
        with pytest.raises(FeatureError, match="is not an integer from 0 to 15"):
            call({0: 1.0, name: 1.0})
    assert model.weights == {}


GOOD = Rows([0, 2, 3], [1, 5, 2], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"indices": [1, 5, 16]}, "row 1: feature 16 is not an integer from 0 to 15"),
        ({"indices": [1, -5, 2]}, "row 0: feature -5 is not an integer"),
        ({"indices": [1, 5, 2**40]}, "row 1: feature 1099511627776 is not an integer"),
        ({"indices": np.array([1, 5, 2**32 - 1], np.uint32)}, "row 1: feature 4294967295 is not an integer"),
        ({"indices": [5, 5, 2]}, "row 0: feature 5 occurs twice"),
        ({"indices": [1.0, 5.0, 2.0]}, "indices: expected integers, got float64"),
        ({"values": [1.0, 2.0, float("nan")]}, "row 1: feature 2 is nan"),
        ({"values": [1.0, float("-inf"), 0.0]}, "row 0: feature 5 is -inf"),
        ({"values": [1.0, 2e100, 0.0]}, "row 0: feature 5 is 2e"),
        ({"values": ["1", "2", "3"]}, "values: expected numbers"),
    ],
)
def test_rejected_rows_change_nothing(wrong, said):
    model = HashedClassifier(bits=BITS)
    rows = GOOD._replace(**wrong)
    calls = [model.score_rows, model.predict_rows]
    calls += [
        lambda rows: model.learn_rows(rows, [1, 1]),
        lambda rows: model.predict_learn_rows(rows, [1, 1]),
    ]
    for call in calls:
        with pytest.raises(FeatureError, match=said):
            call(rows)
    assert (model.weights, model.n_updates) == ({}, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"indptr": []},
        {"indptr": [0, 2]},
        {"indptr": [1, 2, 3]},
        {"indptr": [0, 4, 3]},
        {"indptr": [0, 2, 4]},
        {"values": [1.0]},
        {"indices": [[1, 5, 2]]},
    ],
)
def test_arrays_of_unequal_lengths_are_rejected(wrong):
    with pytest.raises(ValueError, match="indptr"):
        HashedClassifier(bits=BITS).score_rows(GOOD._replace(**wrong))


def test_rejected_labels_and_weights_change_nothing():
    model = HashedClassifier(bits=BITS)
    for y in ([True, 7], np.array([1, 7]), np.array([0.0, np.nan]), ["yes", True]):
        with pytest.raises(LabelError, match="row"):
            model.learn_rows(GOOD, y)
    for w in (-1.0, [1.0, float("nan")], [1.0, 1e26]):
        with pytest.raises(ValueError, match="weight of an example"):
            model.learn_rows(GOOD, [True, False], w)
    for y, w in (([True], 1.0), ([True] * 3, 1.0), ([True] * 2, [1.0])):
        with pytest.raises(ValueError, match="2 rows"):
            model.learn_rows(GOOD, y, w)
    assert (model.weights, model.n_updates) == ({}, 0)


@pytest.mark.parametrize(
    "y", [[True, False], [1, 0], np.array([1, -1], np.int8), np.array([1.0, 0.0]), np.array([1, 0], np.uint8)]
)
def test_labels_accept_every_form_of_learn_one(y):
    model, expected = HashedClassifier(bits=BITS), HashedClassifier(bits=BITS)
    model.learn_rows(GOOD, y)
    expected.learn_one({1: 1.0, 5: 2.0}, True)
    expected.learn_one({2: 3.0}, False)
    assert to_bytes(model) == to_bytes(expected)


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64, np.uint8])
def test_other_integer_widths_and_read_only_arrays_are_accepted(dtype):
    rows = Rows(np.array([0, 2, 3], np.uint8), np.array([1, 5, 2], dtype), np.array([1, 2, 3], np.float32))
    for array in rows:
        array.flags.writeable = False
    model = HashedClassifier(bits=BITS)
    model.learn_rows(rows, [True, True])
    assert model.weights == {1: 1.0, 5: 2.0}


def test_scipys_matrices_are_rows():
    X = sparse.csr_array(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    model = HashedClassifier(bits=BITS)
    model.learn_rows(X, [True, False])
    assert model.weights == {0: -1.0, 1: 2.0, 2: -3.0}
    assert model.score_rows(X[:1]).tolist() == [4.0]
    assert model.predict_rows(sparse.csr_matrix(X)).tolist() == [True, False]


def test_empty_arrays_and_empty_rows_are_accepted():
    model = HashedClassifier(bits=BITS)
    model.learn_rows(Rows([0], [], []), [])
    assert len(model.predict_rows(Rows([0], [], []))) == 0
    model.learn_rows(Rows([0, 0, 0], [], []), [True, True])
    assert (model.bias, model.n_updates) == (1.0, 1)


def test_only_frames_with_index_columns_are_learned():
    X, y = pd.DataFrame([[1.0, 2.0], [0.0, 3.0]], columns=[7, 3]), pd.Series([True, False])
    model = HashedClassifier(bits=BITS)
    model.learn_many(X, y)
    assert model.weights == {7: 1.0, 3: -1.0}
    assert model.predict_many(X).tolist() == [model.predict_one({7: 1.0, 3: 2.0}), False]
    with pytest.raises(FeatureError, match="row 0: feature 'a' is not an integer"):
        model.learn_many(X.rename(columns={7: "a"}), y)


def test_example_keeping_learner_is_rejected():
    with pytest.raises(TypeError, match="KernelPerceptron has no weight for each feature"):
        HashedClassifier(KernelPerceptron())


def test_bytes_with_an_index_out_of_range_are_rejected():
    model, small = HashedClassifier(bits=10), HashedClassifier(bits=4)
    model.learn_one({1000: 1.0}, True)
    with pytest.raises(FeatureError, match="1000"):
        small._set_state(model._get_state())


@pytest.mark.parametrize(("learner", "columns"), [(Perceptron, 1), (AveragedPerceptron, 2), (AROW, 2)])
def test_memory_of_four_million_weights_is_mostly_columns(learner, columns):
    program = (
        "import numpy as np\n"
        f"from perceptron_core import HashedClassifier, Rows, {learner.__name__}\n"
        "def megabytes():\n"
        "    lines = open('/proc/self/status').read().splitlines()\n"
        "    return next(int(line.split()[1]) for line in lines if 'VmRSS' in line) / 1000\n"
        "rows = Rows(np.arange(0, 2**22 + 1, 2**15), np.arange(2**22, dtype=np.int32), np.ones(2**22))\n"
        "HashedClassifier(bits=4).learn_rows(rows._replace(indptr=[0], indices=[], values=[]), [])\n"
        "empty = megabytes()\n"
        f"model = HashedClassifier({learner.__name__}(), bits=22)\n"
        "made = megabytes()\n"
        "model.learn_rows(rows, np.arange(2**7) % 2)\n"
        "print(made - empty, megabytes() - empty)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    fresh, used = map(float, done.stdout.split())
    assert fresh <= used <= 40 * columns
