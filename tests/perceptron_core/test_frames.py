"""A data frame is a way to hand over many examples: nothing else about it matters."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets

from perceptron_core import FeatureError, LabelError, Perceptron, to_bytes
from tests.support.binary_learners import LEARNERS

BACKENDS = {"pandas": (pd.DataFrame, pd.Series), "polars": (pl.DataFrame, pl.Series)}
PAGES = list(datasets.Phishing().take(60))


@pytest.fixture(params=BACKENDS)
def backend(request):
    return BACKENDS[request.param]


@pytest.fixture(params=LEARNERS)
def model(request):
    return LEARNERS[request.param].clone()


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
@settings(max_examples=40)
def test_columns_of_integers_floats_and_booleans_and_weights_by_row_are_the_same_either_way(examples):
    rows = [{"i": i, "f": f, "b": b} for i, f, b, _, _ in examples]
    labels, weights = [e[3] for e in examples], [e[4] for e in examples]
    for name in ("passive-aggressive", "arow"):
        expected = to_bytes(row_by_row(LEARNERS[name].clone(), rows, labels, weights))
        for frame, series in BACKENDS.values():
            model = LEARNERS[name].clone()
            model.learn_many(frame(rows), series(labels), series(weights))
            assert to_bytes(model) == expected


def test_one_weight_may_stand_for_all(backend):
    frame, series = backend
    model = Perceptron()
    model.learn_many(frame({"a": [1.0]}), series([True]), w=3.0)
    assert model.weights == {"a": 3.0}


def test_the_index_of_a_pandas_frame_is_kept():
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"])
    assert list(Perceptron().predict_many(X).index) == ["x", "y"]
    assert list(Perceptron().predict_proba_many(X).index) == ["x", "y"]
    assert list(Perceptron().predict_proba_many(X).columns) == [False, True]


def test_a_frame_without_rows_changes_and_predicts_nothing(backend):
    frame, series = backend
    X = frame({"a": np.array([], dtype=float)})
    model = Perceptron()
    model.learn_many(X, series([], dtype=bool if series is pd.Series else pl.Boolean))
    assert model.n_updates == 0
    assert len(model.predict_many(X)) == 0
    assert list(map(str, model.predict_proba_many(X).columns)) == ["False", "True"]


@pytest.mark.parametrize("missing", [None, float("nan"), 1e300])
def test_a_row_that_is_refused_is_named_and_those_before_it_are_learned(backend, missing):
    frame, series = backend
    model = Perceptron()
    X, y = frame({"a": [1.0, 2.0, missing, 4.0]}), series([True, False, True, True])
    with pytest.raises(FeatureError, match="row 2: feature 'a'"):
        model.learn_many(X, y)
    assert to_bytes(model) == to_bytes(row_by_row(Perceptron(), [{"a": 1.0}, {"a": 2.0}], [True, False]))
    for predict in (model.predict_many, model.predict_proba_many):
        with pytest.raises(FeatureError, match="row 2"):
            predict(X)


def test_a_label_that_is_refused_is_named_by_its_row(backend):
    frame, series = backend
    with pytest.raises(LabelError, match="row 1"):
        Perceptron().learn_many(frame({"a": [1.0, 2.0]}), series([1, 7]))


def test_labels_that_are_too_few_are_refused(backend):
    frame, series = backend
    with pytest.raises(ValueError, match="shorter"):
        Perceptron().learn_many(frame({"a": [1.0, 2.0]}), series([True]))


def test_learners_work_where_no_data_frames_are_installed():
    program = (
        "import sys; sys.modules['pandas'] = sys.modules['polars'] = None\n"
        "from perceptron_core import AROW\n"
        "model = AROW(); model.learn_one({'a': 1.0}, True); print(model.predict_one({'a': 1.0}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("True", 0), done.stderr
