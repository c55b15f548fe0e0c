"""Options are made of the settings, and say no more than the user did."""

import click
import pytest
from click.testing import CliRunner

from service.cli.options import SERVICE, setting_options
from service.settings.declaration import Section
from service.settings.load import Settings, option_settings


@pytest.fixture
def run():
    """Run a command that has options for the named settings; what it got is appended to `seen`."""

    def run(names, *arguments):
        seen = []

        @click.command()
        @setting_options(*names)
        def command(loaded):
            seen.append(loaded)

        return CliRunner().invoke(command, arguments, catch_exceptions=False), seen

    return run


def test_help_shows_each_settings_description_and_default(run):
    names = option_settings()
    result, _ = run(names, "--help")
    text = " ".join(result.output.split())
    for name in names:
        outer, _, inner = name.partition(".")
        model = Settings.model_fields[outer].annotation if inner else Settings
        assert " ".join(model.model_fields[inner or outer].description.split()) in text
    assert "--hash-bits INTEGER" in text
    assert "[default: 50000]" in text
    assert "[words|chars|scripts]" in text
    assert "--lowercase / --no-lowercase" in text


def test_omitted_option_does_not_override_other_sources(run, monkeypatch):
    monkeypatch.setenv("PERCEPTRON_GROUP", "mine")
    monkeypatch.setenv("PERCEPTRON_LOWERCASE", "false")
    _, [loaded] = run(["group", "lowercase", "model_params", "text"], "--text", "chars")
    assert (loaded.settings.group, loaded.settings.text) == ("mine", "chars")
    assert not loaded.settings.lowercase
    assert loaded.origins["text"] == "command line"
    assert loaded.origins["group"] == "environment PERCEPTRON_GROUP"


def test_model_parameters_are_read_as_json_scalars(run):
    pairs = ["threshold=0.5", "tie=true", "kernel=rbf", "note=a=b"]
    _, [loaded] = run(["model_params"], *(part for pair in pairs for part in ("--model-param", pair)))
    assert loaded.settings.model_params == {"threshold": 0.5, "tie": True, "kernel": "rbf", "note": "a=b"}


@pytest.mark.parametrize("pair", ["threshold", "=1"])
def test_model_parameter_without_key_or_value_is_rejected(run, pair):
    result, seen = run(["model_params"], "--model-param", pair)
    assert result.exit_code == 2
    assert "key=value" in result.output
    assert not seen


def test_secret_cannot_become_an_option():
    with pytest.raises(ValueError, match="secret"):
        setting_options("kafka.sasl_password")(lambda: None)


def test_ignored_feature_settings_give_a_warning(run, monkeypatch):
    monkeypatch.setenv("PERCEPTRON_LOWERCASE", "no")
    result, _ = run(["model", "ngrams", "lowercase"], "--model", "auto", "--ngrams", "2")
    assert result.stderr.startswith("warning: the model auto makes its own features and ignores ngrams")
    assert "lowercase (environment PERCEPTRON_LOWERCASE)" in result.stderr


def test_overridden_hash_bits_give_a_warning(run):
    given = ("--model", "auto", "--hash-bits", "12")
    assert "hash_bits" not in run(["model", "hash_bits"], *given)[0].stderr
    result, _ = run(["model", "hash_bits", "model_params"], *given, "--model-param", "hash_bits=10")
    assert "warning: model_params.hash_bits overrides the setting hash_bits" in result.stderr


@pytest.mark.parametrize(
    "command",
    ["serve", "verify", "status", "produce", "dead-letters list", "dead-letters replay", "checkpoint show"]
    + [f"checkpoint {verb}" for verb in ("export", "import", "reset")],
)
def test_commands_have_the_same_stream_options(perceptron, command):
    has_few = command in {"status", "dead-letters list", "checkpoint show"}
    shown = perceptron(*command.split(), "--help" if has_few else "--help-all").stdout
    assert [option for option in SERVICE if f"--{option.replace('_', '-')} " not in shown] == []
    assert "--config FILE" in shown


def options_of(text):
    return {word for line in text.splitlines() for word in line.split()[:1] if word.startswith("--")}


@pytest.mark.parametrize(
    "command", ["serve", "replay", "compare", "train", "check-input", "produce", "verify", "checkpoint reset"]
)
def test_help_shows_common_options_and_help_all_every_option(perceptron, command):
    common, every = (perceptron(*command.split(), option).stdout for option in ("--help", "--help-all"))
    assert options_of(common) < options_of(every)
    shown = [line[:-1] for line in common.splitlines() if line.endswith(":") and line[0] not in " U"]
    assert shown == ["Options", *(each for each in Section if f"\n{each}:\n" in common)]
    assert {"--events-id", "--events-label"} <= options_of(common)


def test_serve_help_has_every_section_and_common_settings(perceptron):
    common, every = (perceptron("serve", option).stdout for option in ("--help", "--help-all"))
    assert all(f"\n{section}:\n" in common for section in Section)
    assert len(options_of(common)) < 30
    others = {name for name in option_settings() if not name.startswith("kafka.")}
    others -= {"model_params"}  # whose option is in the singular
    assert all(f"--{name.replace('_', '-').replace('.', '-')}" in every for name in others)
