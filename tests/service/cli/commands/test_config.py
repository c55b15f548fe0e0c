"""`config show` tells each value and who said so, and no password."""

import json

import pytest

from service.settings.fields import setting_values
from service.settings.load import load_settings


def shown(result):
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_every_setting_is_shown_with_its_source(perceptron):
    settings = shown(perceptron("config", "show", "--format", "json"))
    assert settings.keys() == setting_values(load_settings({}).settings).keys()
    assert settings["hash_bits"] == {"value": 0, "source": "default"}


def test_text_is_one_aligned_line_per_setting(perceptron):
    lines = perceptron("config", "show", "--hash-bits", "7").stdout.splitlines()
    line = next(line for line in lines if line.startswith("hash_bits"))
    assert line.split() == ["hash_bits", "7", "command", "line"]
    assert len({line.rindex("default") for line in lines if line.endswith("  default")}) == 1


@pytest.mark.parametrize("form", ["text", "json"])
def test_passwords_are_masked(perceptron, monkeypatch, form):
    monkeypatch.setenv("PERCEPTRON_KAFKA__SASL_PASSWORD", "hunter2")
    result = perceptron("config", "show", "--format", form)
    assert "hunter2" not in result.output
    assert "**********" in result.stdout


def test_query_of_the_registry_url_is_masked(perceptron, monkeypatch):
    monkeypatch.setenv("PERCEPTRON_SCHEMA_REGISTRY__URL", "https://h/api?token=secret")
    shown = perceptron("config", "show").output
    assert "https://h/api?**********" in shown
    assert "secret" not in shown.replace("secrets", "")
