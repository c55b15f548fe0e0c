"""A function of the user's own makes features of records."""

import json

import pytest

from service.errors import ConfigurationError
from service.messages.rejection import Rejection
from service.partition.factory import make_decoder
from service.settings.fields import fingerprint
from service.settings.load import load_settings
from tests.service.building import settings

CODE = """
__version__ = "3"

def of(record):
    if record["x"] > 100:
        raise ValueError("too large")
    return {"square": record["x"] ** 2, "kind": "b", "nested": {"a": True}, "tags": ["u"]}

def with_text(record):
    return {"x": None}, f"text {record['x']}"

def nothing(record):
    return {}

def endless(record):
    made = {}
    made["a"] = made
    return made

def leaves(record):
    raise SystemExit

def wrong(record):
    return [record["x"]]

def unnamed(record):
    return {7: 1.0}

def infinite(record):
    return {"x": float("inf")}
"""


@pytest.fixture
def given(tmp_path):
    """Return settings whose hook is a function of the code above."""
    path = tmp_path / "hooks.py"
    path.write_text(CODE)
    return lambda name, **more: settings(events={"features": "x", "hook": f"{path}:{name}"} | more)


def read(given, x=3.0):
    return make_decoder(given).decode(json.dumps({"id": "a", "x": x, "text": "own"}).encode())


def test_hook_features_are_added_to_mapped_features(given):
    assert read(given("of")).features == {
        "x": 3.0,
        "square": 9.0,
        "kind": "b",
        "nested.a": True,
        "tags=u": 1.0,
    }


def test_hook_text_and_features_replace_mapped_ones(given):
    event = read(given("with_text"))
    assert (event.features, event.text) == ({}, "text 3.0")


def test_features_are_derived_from_hook_features(given):
    assert read(given("of", derive={"half": "square / 2"})).features["half"] == 4.5


def test_event_without_hook_features_is_accepted(given):
    assert read(given("nothing", features="y", text="z")).features == {}


@pytest.mark.parametrize(
    ("name", "x", "complaint"),
    [
        ("of", 101, r"hook_error: .*:of \(events\.hook\): ValueError: too large \(hooks\.py:\d+, in of\)"),
        ("wrong", 1, "hook_error: .*expected a dictionary of features"),
        ("unnamed", 1, "hook_error: .*expected a string as feature name, got 7"),
        ("infinite", 1, "not_finite: "),
        ("endless", 1, "hook_error: .*the result is nested too deeply"),
        ("leaves", 1, "hook_error: .*SystemExit"),
    ],
)
def test_failing_hook_rejects_the_record(given, name, x, complaint):
    with pytest.raises(Rejection, match=complaint):
        read(given(name), x)


def test_hook_name_and_version_are_recorded(given):
    assert fingerprint(given("of"))["events.hook"].endswith("hooks.py:of 3")


def test_given_hook_version_must_match(given):
    hook = given("of").events.hook
    make_decoder(settings(events={"hook": f"{hook} 3"}))
    with pytest.raises(ConfigurationError, match="expected version 2, got 3"):
        make_decoder(settings(events={"hook": f"{hook} 2"}))


@pytest.mark.parametrize("place", ["nowhere.module:of", "nowhere.py:of", "json:nothing", "json:__name__"])
def test_missing_hook_is_rejected_at_startup(place):
    with pytest.raises(ConfigurationError, match=r"events\.hook: "):
        make_decoder(settings(events={"hook": place}))


def test_hook_file_that_exits_is_rejected_at_startup(tmp_path):
    (tmp_path / "leaving.py").write_text("raise SystemExit(0)\n")
    with pytest.raises(ConfigurationError, match=r"leaving\.py:of': SystemExit: 0"):
        make_decoder(settings(events={"hook": f"{tmp_path / 'leaving.py'}:of"}))


def test_hook_is_rejected_if_code_is_disallowed(given, monkeypatch):
    monkeypatch.setenv("PERCEPTRON_ALLOW_HOOK", "no")
    with pytest.raises(ConfigurationError, match="allow_hook is off"):
        load_settings({"events.hook": given("of").events.hook})
