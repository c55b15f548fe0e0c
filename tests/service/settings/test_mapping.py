"""A mapping is checked before the first record, and names what is wrong with it."""

import pytest

from service.errors import ConfigurationError
from service.settings.load import Settings, load_settings
from service.settings.mapping import EventSettings, LabelSettings


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("events.id", "a..b", "events.id = 'a..b' (from command line): not JMESPath at character 3"),
        ("events.id", "@header.", "events.id = '@header.' (from command line): not JMESPath"),
        (
            "events.label",
            "is(a)",
            "events.label = 'is(a)' (from command line): not JMESPath: Unknown function",
        ),
        ("events.timestamp", "[", "events.timestamp = '[' (from command line): not JMESPath"),
        ("events.text", "a,b[", "events.text = 'a,b[' (from command line): not JMESPath"),
        ("events.features", "a.b,c-d", "not JMESPath at character 2"),
        ("events.features", "a,a", "named twice"),
        ("events.exclude", "a[0]", "'a[0]' is an expression; expected names with dots"),
        ("labels.id", "'", 'labels.id = "\'" (from command line): not JMESPath at character 1'),
        ("labels.label", "a b", "labels.label = 'a b' (from command line): not JMESPath at character 3"),
        ("events.format", "text", "events.id must be @key, @header.NAME or @offset"),
        ("events.format", "xml", "events.format = 'xml' (from command line): must be"),
    ],
)
def test_a_mapping_that_cannot_be_is_refused(name, value, complaint):
    with pytest.raises(ConfigurationError) as refused:
        load_settings({name: value})
    assert complaint in str(refused.value)


@pytest.mark.parametrize("given", [{"label": "status"}, {"features": "*"}, {"timestamp": "at"}])
def test_text_has_no_fields(given):
    with pytest.raises(ConfigurationError, match="format text has no fields for events"):
        load_settings({"events": {"format": "text", "id": "@key", **given}})


def test_a_label_that_looks_at_everything_leaves_nothing_for_features():
    with pytest.raises(ConfigurationError, match="looks at the whole record"):
        load_settings({"events.label": "contains(values(@), 'x')", "events.features": "*"})


def test_a_mapping_comes_from_file_environment_and_command_line(tmp_path, monkeypatch):
    file = tmp_path / "service.toml"
    file.write_text('[events]\nid = "a"\nfeatures = ["x", "y.z"]\n[labels]\nlabel = "paid"\n')
    monkeypatch.setenv("PERCEPTRON_EVENTS__TEXT", "subject, join(', ', tags)")
    loaded = load_settings({"events.id": "@key"}, file)
    assert loaded.settings.events == EventSettings(
        id="@key", features=("x", "y.z"), text=("subject", "join(', ', tags)")
    )
    assert loaded.settings.labels == LabelSettings(label="paid")
    assert loaded.origins["events.text"] == "environment PERCEPTRON_EVENTS__TEXT"


def test_a_table_may_be_json_in_the_environment(monkeypatch):
    monkeypatch.setenv("PERCEPTRON_LABELS", '{"id": "ref"}')
    assert load_settings({}).settings.labels.id == "ref"


@pytest.mark.parametrize("name", ["events.ids", "labels.features"])
def test_a_setting_that_does_not_exist_is_refused(name, tmp_path):
    file = tmp_path / "service.toml"
    file.write_text(f'{name} = "a"\n')
    with pytest.raises(ConfigurationError, match="no such setting"):
        load_settings({}, file)


@pytest.mark.parametrize("table", [EventSettings, LabelSettings])
def test_only_what_differs_from_the_own_schema_is_a_mapping(table):
    assert not table().is_mapped
    assert not table(unknown_fields="refuse").is_mapped
    assert table(unknown_fields="ignore").is_mapped
    assert table(id="id").is_mapped


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
def test_the_class_on_timeout_is_written_as_labels_are(given, classes, truth):
    settings = Settings(events={"label_on_timeout": given}, classes=classes)
    assert settings.events.truth_on_timeout(classes) is truth


@pytest.mark.parametrize(
    ("given", "classes"), [("no", ()), ("eggs", ("ham", "spam")), ("1", ("a", "b", "c"))]
)
def test_a_class_on_timeout_that_is_none_is_refused_by_name(given, classes):
    with pytest.raises(ConfigurationError, match=r"events\.label_on_timeout.*is none of"):
        load_settings({"events.label_on_timeout": given, "classes": ",".join(classes)})


@pytest.mark.parametrize("given", [{}, {"format": "text", "id": "@key"}])
def test_the_class_on_timeout_says_nothing_of_records(given):
    plain, settings = EventSettings(**given), EventSettings(label_on_timeout="false", **given)
    assert settings.is_mapped is plain.is_mapped
