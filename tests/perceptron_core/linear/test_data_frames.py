"""A data frame is a way to hand over many examples: nothing else about it matters."""

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets

from perceptron_core import AutoClassifier, FeatureError, LabelError, Perceptron, to_bytes
from tests.support.example_counts import n_examples
from tests.support.learners import TWO_CLASS, any_of

BACKENDS = {"pandas": (pd.DataFrame, pd.Series), "polars": (pl.DataFrame, pl.Series)}
PAGES = list(datasets.Phishing().take(60))


@pytest.fixture(params=BACKENDS)
def backend(request):
    return BACKENDS[request.param]


@pytest.fixture(params=TWO_CLASS)
def model(request):
    return TWO_CLASS[request.param].clone()


def row_by_row(model, rows, labels, weights=None):
    for number, (x, y) in enumerate(zip(rows, labels, strict=True)):
        model.learn_one(x, y, *([] if weights is None else [weights[number]]))
    return model


def test_learning_a_frame_is_learning_its_rows_bit_for_bit(model, backend):
    frame, series = backend
    rows, labels = zip(*PAGES, strict=True)
    many = model.clone()
    many.learn_many(frame(rows[:25]), series(labels[:25]))
    many.learn_many(frame(rows[25:]), series(labels[25:]))
    assert to_bytes(many) == to_bytes(row_by_row(model, rows, labels))


def test_predicting_a_frame_is_predicting_its_rows_bit_for_bit(model, backend):
    frame, _ = backend
    rows, labels = zip(*PAGES, strict=True)
    row_by_row(model, rows, labels)
    X = frame(rows)
    predicted, probable = model.predict_many(X), model.predict_proba_many(X)
    assert type(probable) is frame
    assert predicted.to_list() == [model.predict_one(x) for x in rows]
    for label in (False, True):
        column = probable[label if frame is pd.DataFrame else str(label)]
        assert column.to_list() == [model.predict_proba_one(x)[label] for x in rows]


@given(
    st.lists(
        st.tuples(st.integers(-9, 9), st.floats(-5, 5), st.booleans(), st.booleans(), st.floats(0, 4)),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=n_examples(40))
def test_typed_columns_with_row_weights_give_the_same_model(examples):
    rows = [{"i": i, "f": f, "b": b} for i, f, b, _, _ in examples]
    labels, weights = [e[3] for e in examples], [e[4] for e in examples]
    for name in ("passive-aggressive", "arow"):
        expected = to_bytes(row_by_row(TWO_CLASS[name].clone(), rows, labels, weights))
        for frame, series in BACKENDS.values():
            model = TWO_CLASS[name].clone()
            model.learn_many(frame(rows), series(labels), series(weights))
            assert to_bytes(model) == expected


cells = st.integers(-1, 1).map(float)
blocks = st.lists(
    st.tuples(
        st.lists(st.sampled_from("abcde"), unique=True, min_size=1),
        st.lists(st.tuples(st.lists(cells, min_size=5, max_size=5), st.booleans()), max_size=9),
    ),
    max_size=3,
)


@given(any_of(TWO_CLASS), blocks)
@settings(max_examples=n_examples(250))
def test_columns_with_changing_weights_give_the_same_model(model, blocks):
    expected = model.clone()
    for columns, examples in blocks:
        rows = [row[: len(columns)] for row, _ in examples]
        labels = [label for _, label in examples]
        X = pd.DataFrame(rows, columns=columns, dtype=float)
        model.learn_many(X, pd.Series(labels, dtype=bool))
        row_by_row(expected, [dict(zip(columns, row, strict=True)) for row in rows], labels)
        assert to_bytes(model) == to_bytes(expected)
        assert model.predict_many(X).tolist() == [expected.predict_one(x) for x in X.to_dict("records")]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1.5, 2.5, 3.5], dtype="Float32"),
        pd.Series([1, 2.5, True], dtype=object),
        pd.Series(["1", "2", "3"], dtype=object),
        pd.Series(["1", "2", "1"], dtype="category"),
        pd.Series([2**63 + 1025, 2**53 + 1, 0], dtype="uint64"),
        pd.to_datetime(pd.Series([1, 2, 3])),
        pd.Series([0.1, 0.2, 0.3], dtype="float32"),
        pl.Series([1, None, 3]),
        pl.Series([True, None, False]),
        pl.Series([Decimal("0.1"), Decimal("0.2"), Decimal("0.3")]),
        pl.Series([1, 2, 3], dtype=pl.Int128),
        pl.Series([2**63 + 1025, 2**53 + 1, 0], dtype=pl.UInt64),
        pl.Series([1, 2, 3], dtype=pl.Duration),
        pl.Series([[1.0], [2.0], [3.0]]),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]}-{column.dtype}",
)
def test_typed_columns_equal_their_single_values(column):
    backend = pd if isinstance(column, pd.Series) else pl
    X = backend.DataFrame({"flag": [True, False, True], "small": [1, 2, 3], "own": column})
    model, expected, rejected = Perceptron(), Perceptron(), None
    for number, values in enumerate(X.itertuples(index=False) if backend is pd else X.iter_rows()):
        try:
            known = [None if value is pd.NA else value for value in values]
            expected.learn_one(dict(zip(X.columns, known, strict=True)), number != 1)
        except FeatureError as error:
            rejected = f"row {number}: {error}"
            break
    found = None
    try:
        model.learn_many(X, backend.Series([True, False, True]))
    except FeatureError as error:
        found = str(error)
    assert found == rejected
    assert to_bytes(model) == to_bytes(expected)


def test_scalar_weight_applies_to_all_rows(backend):
    frame, series = backend
    model = Perceptron()
    model.learn_many(frame({"a": [1.0]}), series([True]), w=3.0)
    assert model.weights == {"a": 3.0}


def test_index_of_a_pandas_frame_is_kept():
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"])
    assert list(Perceptron().predict_many(X).index) == ["x", "y"]
    assert list(Perceptron().predict_proba_many(X).index) == ["x", "y"]
    assert list(Perceptron().predict_proba_many(X).columns) == [False, True]


def test_frame_without_rows_changes_and_predicts_nothing(backend):
    frame, series = backend
    X = frame({"a": np.array([], dtype=float)})
    model = Perceptron()
    model.learn_many(X, series([], dtype=bool if series is pd.Series else pl.Boolean))
    assert model.n_updates == 0
    assert len(model.predict_many(X)) == 0
    assert list(map(str, model.predict_proba_many(X).columns)) == ["False", "True"]


@pytest.mark.parametrize("missing", [None, float("nan"), 1e300])
def test_rows_before_a_rejected_row_are_learned(backend, missing):
    frame, series = backend
    model = Perceptron()
    X, y = frame({"a": [1.0, 2.0, missing, 4.0]}), series([True, False, True, True])
    with pytest.raises(FeatureError, match="row 2: feature 'a'"):
        model.learn_many(X, y)
    assert to_bytes(model) == to_bytes(row_by_row(Perceptron(), [{"a": 1.0}, {"a": 2.0}], [True, False]))
    for predict in (model.predict_many, model.predict_proba_many):
        with pytest.raises(FeatureError, match="row 2"):
            predict(X)


def test_rejected_label_is_named_by_its_row(backend):
    frame, series = backend
    with pytest.raises(LabelError, match="row 1"):
        Perceptron().learn_many(frame({"a": [1.0, 2.0]}), series([1, 7]))


@pytest.mark.parametrize("made", [Perceptron, AutoClassifier])
def test_too_few_labels_are_rejected_before_learning(backend, made):
    frame, series = backend
    model = made()
    with pytest.raises(ValueError, match="2 rows, but 1 labels"):
        model.learn_many(frame({"a": [1.0, 2.0]}), series([True]))
    assert model.n_updates == 0


def test_learners_work_without_data_frame_packages():
    program = (
        "import sys; sys.modules['pandas'] = sys.modules['polars'] = None\n"
        "from perceptron_core import AROW\n"
        "model = AROW(); model.learn_one({'a': 1.0}, True); print(model.predict_one({'a': 1.0}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("True", 0), done.stderr
