"""A model file in Python predicts as the service that wrote it."""

import copy
import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import service
from perceptron_core import Perceptron, to_bytes
from service.errors import ConfigurationError, InputFileError
from service.messages.rejection import Rejection
from service.models.model_file import made_with, write_model_file
from service.partition.parts.decisions import kept_rules
from tests.service.building import settings
from tests.service.web.stage import Stage

MAPPED = {
    "id": "key",
    "text": ("body",),
    "features": ("*",),
    "exclude": ("noise",),
    "label": "kind",
    "where": "kept != `false`",
    "derive": (("twice", "a * 2"),),
}
KEPT = ("name", "goal", "level", "truth", "threshold")
THREE = {"classes": ("ham", "spam", "eggs")}
CASES = {
    "perceptron": {},
    "named classes": {"model": "arow", "classes": ("ham", "spam")},
    "probabilities": {"model": "normalized-adagrad", "hash_bits": 16, "ngrams": (1, 2)},
    "several classes": {**THREE, "model": "perceptron"},
    "a multiclass model of two classes": {"model": "multiclass-arow", "classes": ("ham", "spam")},
    "auto": {"model": "auto"},
    "auto of several classes": {**THREE, "model": "auto"},
    "mapped": {"model": "arow", "events": MAPPED},
    "mapped, with tenants": {"model": "arow", "hash_bits": 12, "events": {**MAPPED, "tenant": "lang"}},
    "auto, mapped": {"model": "auto", "events": MAPPED},
    "decisions": {
        "decisions": [
            {"name": "surely", "threshold": 3.0},
            {"name": "never", "min_precision": 0.95},
            {"name": "some", "max_rate": "5/second"},
        ]
    },
    "costs": {"model": "auto", "costs": {"false_positive": 5, "false_negative": 20}},
    "decisions on one of several classes": {
        **THREE,
        "model": "auto",
        "decisions": [{"name": "fry", "class": "eggs", "threshold": 0.5}],
    },
}
SCALARS = st.one_of(
    st.floats(),
    st.integers(-(2**70), 2**70),
    st.booleans(),
    st.sampled_from(["", "red", "win a prize", "see you at noon", "7", "ünïcödé 漢字"]),
)
IDS = st.one_of(st.sampled_from(["", "a", 7, None, "x" * 300]), st.text(max_size=5))
FEATURES = st.dictionaries(
    st.sampled_from(["a", "b", "lang", "noise", "kept"]), SCALARS | st.none(), max_size=5
)
OWN = st.fixed_dictionaries(
    {"id": IDS}, optional={"features": FEATURES, "text": SCALARS | st.none(), "other": SCALARS}
)
FOREIGN = st.builds(lambda key, fields: {"key": key, **fields}, IDS, FEATURES) | st.builds(
    lambda key, body, fields: {"key": key, "body": body, **fields}, IDS, SCALARS | st.none(), FEATURES
)


def training(is_mapped, classes):
    for n in range(40):
        name = classes[n % len(classes)]
        fields = {"a": n % 5, "b": n * 0.5, "lang": "de" if n % 2 else "en"}
        text = f"{['win a prize', 'see you', 'fry them'][n % len(classes)]} {n % 7}"
        own = {"id": str(n), "features": fields, "text": text, "label": name}
        yield {"key": str(n), "kind": name, "body": text, **fields} if is_mapped else own


@pytest.fixture(scope="module", params=CASES)
def stage_and_model(request, tmp_path_factory):
    """Return a service that has learned something, and its model, read from a file."""
    given = CASES[request.param]
    stage = Stage(**given)
    for message in training("events" in given, given.get("classes", (False, True))):
        stage(message)
    file = tmp_path_factory.mktemp("models") / "model.bin"
    write_model_file(
        file,
        stage.feeds[0].processor.learner,
        made_with(stage.settings) | kept_rules(stage.feeds[0].processor.optional_parts),
    )
    return stage, service.load(file)


def result_of(call):
    """Return a result, or the reason of a rejection; None for what a filter leaves out."""
    try:
        return call()
    except Rejection as rejection:
        return None if rejection.reason == "skipped" else rejection.reason


@hypothesis_settings(deadline=None)
@given(st.data())
def test_predictions_equal_the_service(stage_and_model, data):
    stage, model = stage_and_model
    is_mapped = stage.settings.events.is_mapped
    record = data.draw(FOREIGN if is_mapped else OWN)
    assume(not is_mapped or record["key"] is not None)  # else its number stands for the id
    message = json.dumps(record).encode()
    live, asked = stage.live.get(), stage.live.questions

    def explained():
        return live.explain(asked.read(message))

    expected = result_of(lambda: live.predict(asked.read(message)))
    for form in (record, message, message.decode()):
        label, score = result_of(lambda: model.predict(form)), result_of(lambda: model.score(form))  # noqa: B023
        if not isinstance(expected, dict):
            assert label == score == expected
            continue
        assert (label, score) == (expected["label"], expected["score"])
        assert model.explain(form) == explained()
        if "decision" in expected:
            assert model.decide(form) == expected["decision"]
        if "probability" in expected:
            assert model.predict_proba(form)[label] == expected["probability"]


def test_probabilities_are_of_all_classes_and_add_up(stage_and_model):
    stage, model = stage_and_model
    record = {"key" if stage.settings.events.is_mapped else "id": "a", "features": {"a": 1.0}}
    if not stage.live.get().processor.learner.has_log_odds:
        with pytest.raises(ConfigurationError, match="has no probabilities"):
            model.predict_proba(record)
        return
    found = model.predict_proba(record)
    assert tuple(found) == model.classes
    assert sum(found.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_rows_of_a_frame_are_predicted_as_records(stage_and_model, frame):
    stage, model = stage_and_model
    rows = [
        {"a": n / 2, "b": None if n % 3 else n, "lang": ["de", None, "en"][n % 3], "body": "win a prize"}
        for n in range(7)
    ]
    if stage.settings.events.is_mapped:
        records = [{"key": str(n), **row} for n, row in enumerate(rows)]
        table = frame(records)
    else:
        table = frame([{"text": row.pop("body"), "label": "no one reads it", **row} for row in rows])
        known = ({name: value for name, value in row.items() if value is not None} for row in rows)
        records = [{"features": row, "text": "win a prize"} for row in known]
    predicted, scores = model.predict(table), model.score(table)
    assert type(predicted).__module__.split(".")[0] == type(table).__module__.split(".")[0]
    assert predicted.to_list() == model.predict(records) == [model.predict(each) for each in records]
    assert scores.to_list() == model.score(records)
    is_same = {"id": None}
    assert [e | is_same for e in model.explain(table)] == [e | is_same for e in model.explain(records)]
    if stage.settings.decisions:
        assert model.decide(table).to_list() == model.decide(records)
    if stage.live.get().processor.learner.has_log_odds:
        found = model.predict_proba(table)
        assert isinstance(found, frame)
        for name in model.classes:
            assert found[str(name)].to_list() == [each[name] for each in model.predict_proba(records)]


@pytest.fixture
def saved(tmp_path):
    """Write a perceptron that has learned two words, under settings; return the file."""

    def save(**given):
        model = Perceptron()
        model.learn_one({"text=win": 1.0}, True)
        model.learn_one({"text=see": 1.0}, False)
        file = tmp_path / "model.bin"
        file.write_bytes(to_bytes(model, made_with(settings(**given))))
        return file

    return save


def test_text_format_values_need_no_json(saved):
    model = service.load(saved(events={"format": "text", "id": "@key"}))
    assert model.predict(["win now", b"see you", {"text": "win"}]) == [True, False, True]
    assert model.predict(pd.DataFrame({"text": ["win", "see you"]})).to_list() == [True, False]


def test_filtered_record_has_no_prediction(saved):
    model = service.load(saved(events={"where": "kept", "text": ("text",), "id": "id"}))
    rows = [{"id": "a", "kept": True, "text": "win"}, {"id": "b", "kept": False, "text": "win"}]
    assert model.predict(rows) == [True, None]
    assert model.predict(pl.DataFrame(rows)).to_list() == [True, None]
    assert model.predict(rows[1]) is None


def test_rejection_names_the_record(saved):
    model = service.load(saved())
    with pytest.raises(Rejection, match="record 1: other") as rejected:
        model.predict([{"text": "win"}, {"text": "win", "other": 1}])
    assert rejected.value.reason == "unknown_field"


def test_scalars_of_numpy_are_numbers(saved):
    model = service.load(saved())
    features = {"a": np.float32(2.5), "b": np.int64(3), "c": np.bool_(1)}
    assert model.score({"features": features}) == model.score({"features": {"a": 2.5, "b": 3, "c": True}})


@pytest.mark.parametrize("value", [object(), {1}, "\ud800"])
def test_non_json_value_is_rejected(saved, value):
    with pytest.raises(Rejection):
        service.load(saved()).predict({"features": {"a": value}})


@pytest.mark.parametrize("content", [b"", b"perceptron", b"\x80\x04N."])
def test_non_model_file_is_rejected(tmp_path, content):
    (tmp_path / "model.bin").write_bytes(content)
    with pytest.raises(InputFileError):
        service.load(tmp_path / "model.bin")


def test_code_named_by_a_model_file_does_not_run(tmp_path):
    trap = tmp_path / "trap.py"
    trap.write_text("raise SystemExit('code ran')\n")
    names_code = made_with(settings()) | {"model": f"{trap}:build"}
    file = tmp_path / "model.bin"
    file.write_bytes(to_bytes(Perceptron(), names_code))
    assert service.load(file).predict({"text": "win"}) is False


def test_environment_setting_that_contradicts_the_file_is_rejected(saved, monkeypatch):
    monkeypatch.setenv("PERCEPTRON_TEXT", "chars")
    with pytest.raises(ConfigurationError, match="text"):
        service.load(saved())


def test_windows_over_a_stream_are_rejected(saved):
    windows = ({"by": "card", "over": ["1h"], "of": {"@event": ["count"]}},)
    with pytest.raises(ConfigurationError, match="windows"):
        service.load(saved(events={"windows": windows, "timestamp": "at"}))


def test_file_without_decisions_is_an_error(saved):
    with pytest.raises(ConfigurationError, match="missing from the model file"):
        service.load(saved()).decide({"text": "win"})


@pytest.mark.parametrize("kept", [7, [{"name": "block"}], [{**dict.fromkeys(KEPT, 1), "goal": 2**40}]])
def test_invalid_decisions_in_a_file_are_rejected(tmp_path, kept):
    file = tmp_path / "model.bin"
    file.write_bytes(to_bytes(Perceptron(), made_with(settings()) | {"decisions": kept}))
    with pytest.raises(InputFileError, match="decisions"):
        service.load(file)


def test_package_import_loads_no_heavy_module():
    code = "import service, sys; assert 'pydantic' not in sys.modules and 'numpy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("copied", [lambda model: pickle.loads(pickle.dumps(model)), copy.deepcopy])
def test_pickled_model_predicts_as_the_original(stage_and_model, copied):
    model = stage_and_model[1]
    records = [{"key": "k", "body": "win", "a": 2.0, "lang": "en"}] * 2
    if not stage_and_model[0].settings.events.id:
        records = [{"text": "win"}, {"features": {"a": 2.0}}]
    other = copied(model)
    assert other.score(records) == model.score(records)
    assert other.explain(records) == model.explain(records)


def test_pickle_holds_no_secret_of_the_environment(saved, monkeypatch):
    monkeypatch.setenv("PERCEPTRON_CHECKPOINT_KEY", "a secret of the environment")
    assert b"a secret of the environment" not in pickle.dumps(service.load(saved()))


def test_record_of_another_schema_needs_no_id(saved):
    model = service.load(saved(events={"id": "m.key", "text": ("body",)}))
    records = [{"body": "win"}, {"m": {"key": "k-1"}, "body": "win"}]
    assert model.predict(records) == [True, True]
    assert model.predict(json.dumps(records[0])) is True
    assert model.predict(pd.DataFrame({"body": ["win", "see"]})).tolist() == [True, False]
