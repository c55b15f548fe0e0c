"""What settings mean, in each form in which they are given."""

import json
import sys

import pytest

from service.errors import ConfigurationError
from service.messages.json_values import first_repeated
from service.settings.code import import_code, with_version
from service.settings.load import Settings, load_settings
from service.settings.mapping import EventSettings, LabelSettings
from service.settings.parts import DecisionSettings, WindowSettings, goal_of


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_decisions_read_from_json_become_goals():
    given = [
        {"name": "block", "class": "spam", "min_precision": 0.99, "confidence": 0.9},
        {"name": "look", "class": "", "max_rate": "9/day", "confidence": 0.8},
    ]
    found = load_settings({"classes": "ham,spam", "decisions": json.dumps(given)}).settings.decisions
    assert [each.model_dump() for each in found] == given
    assert found == tuple(DecisionSettings(**each) for each in given)
    assert [goal_of(each, ("ham", "spam")) for each in found] == [
        (0, 0.99, True, 0.9, (0, 0)),
        (5, 0.0, True, 0.8, (9, 86_400_000)),
    ]


def test_windows_in_toml_json_and_a_snapshot_are_the_same(tmp_path):
    toml = tmp_path / "service.toml"
    toml.write_text('[[events.windows]]\nby = "card"\nover = ["1h"]\nof.amount = ["sum"]\n')
    wanted = (WindowSettings(by="card", over=("1h",), of={"amount": ("sum",)}),)
    table = {"by": "card", "over": "1h", "of": {"amount": "sum"}}
    packed = [{"by": "card", "over": ["1h"], "of": {"amount": ["sum"]}, "max_keys": 100_000}]
    assert EventSettings(windows="").windows == ()
    for given in ([table], json.dumps([table]), packed, wanted):
        assert load_settings({"events.windows": given}).settings.events.windows == wanted
    assert load_settings({}, toml).settings.events.windows == wanted


def test_mapping_comes_from_file_environment_and_command_line(tmp_path, monkeypatch):
    file = tmp_path / "service.toml"
    file.write_text('[events]\nid = "a"\nfeatures = ["x", "y.z"]\n')
    monkeypatch.setenv("PERCEPTRON_EVENTS__TEXT", "subject, join(', ', tags)")
    monkeypatch.setenv("PERCEPTRON_LABELS", '{"label": "paid"}')
    loaded = load_settings({"events.id": "@key"}, file)
    assert loaded.settings.events == EventSettings(
        id="@key", features=("x", "y.z"), text=("subject", "join(', ', tags)")
    )
    assert loaded.settings.labels == LabelSettings(label="paid")
    assert loaded.origins["events.text"] == "environment PERCEPTRON_EVENTS__TEXT"


@pytest.mark.parametrize("table", [EventSettings, LabelSettings])
def test_only_differences_from_the_native_schema_are_a_mapping(table):
    assert not table().is_mapped
    assert not table(unknown_fields="reject").is_mapped
    assert table(unknown_fields="ignore").is_mapped
    assert table(id="id").is_mapped


@pytest.mark.parametrize("given", [{}, {"format": "text", "id": "@key"}])
def test_class_on_timeout_is_not_a_mapping(given):
    plain, changed = EventSettings(**given), EventSettings(label_on_timeout="false", **given)
    assert changed.is_mapped is plain.is_mapped


@pytest.mark.parametrize(
    ("given", "classes", "truth"),
    [
        ("", (), None),
        ("false", (), False),
        (False, (), False),
        (1, (), True),
        ("-1", ("ham", "spam"), False),
        ("spam", ("ham", "spam"), True),
        ("sea", ("sky", "sea", "sand"), "sea"),
        ("true", ("true", "false"), False),
    ],
)
def test_class_on_timeout_is_written_as_labels_are(given, classes, truth):
    made = Settings(events={"label_on_timeout": given}, classes=classes)
    assert made.events.truth_on_timeout(classes) is truth


def test_code_file_is_imported_once(tmp_path):
    (tmp_path / "once.py").write_text("class Thing: pass\n")
    place = f"{tmp_path / 'once.py'}:Thing"
    assert import_code("model", place, "") is import_code("model", place, "")


def test_failing_code_file_leaves_no_module(tmp_path):
    (tmp_path / "broken.py").write_text("1 / 0\n")
    with pytest.raises(ConfigurationError, match=r"model: cannot import .*ZeroDivisionError"):
        import_code("model", f"{tmp_path / 'broken.py'}:thing", "a hint")
    assert "perceptron_model_broken" not in sys.modules


def test_hook_version_comes_from_function_or_module(tmp_path):
    path = tmp_path / "versions.py"
    path.write_text("__version__ = 1\ndef a(_): pass\ndef b(_): pass\nb.__version__ = 2\n")
    assert [with_version(f"{path}:{name}") for name in "ab"] == [f"{path}:a 1", f"{path}:b 2"]


def test_topic_prefix_applies_to_all_unset_topics():
    made = Settings(topic_prefix="eu-", labels_topic="", events_topic="payments")
    named = (made.events_topic, made.labels_topic, made.predictions_topic, made.checkpoints_topic)
    assert named == ("payments", "", "eu-predictions", "eu-checkpoints")


def test_repeated_name_is_found_in_linear_time():
    class Counted(str):
        __slots__ = ()
        __hash__ = str.__hash__
        n_compared = 0

        def __eq__(self, other):
            Counted.n_compared += 1
            return str.__eq__(self, other)

    names = [Counted(n) for n in range(1000)]
    assert first_repeated([*names, Counted("7")]) == "7"
    assert Counted.n_compared < 2 * len(names)
