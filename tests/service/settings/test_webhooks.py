"""Webhooks are rejected with a reason that shows nothing secret."""

import json

import pytest

from service.errors import ConfigurationError
from service.settings.load import load_settings
from service.settings.parts import WebhookSettings

URL = "https://example.org/services/a-token"


def load(tmp_path, text):
    path = tmp_path / "settings.toml"
    path.write_text(text)
    return load_settings({}, path).settings


@pytest.mark.parametrize(
    ("table", "wanted"),
    [
        ('on = "mistake"', "entry 1: url: missing"),
        (f'url = "{URL}"', "on: missing"),
        (f'url = "{URL}"\non = "drifts"', "expected mistake, decision:NAME, or drift"),
        (f'url = "{URL}"\non = "drift, mistake"', "a separate webhook"),
        (f'url = "{URL}"\non = "drift"', "drifts are not recorded"),
        (f'url = "{URL}"\non = "decision:"', "expected mistake, decision:NAME, or drift"),
        ('url = "ftp://a-token"\non = "mistake"', "expected https://host/path"),
        ('url = "https://me:a-token@example.org"\non = "mistake"', "without a user name"),
        ('url = "https://example.org/a-token x"\non = "mistake"', "without spaces"),
        (f'url = "{URL}"\non = "mistake"\nname = "a b"', "letters, digits"),
        (f'url = "{URL}"\non = "mistake"\nsecrets = "a-token"', "unknown setting"),
        (f'url = "{URL}"\non = "mistake"\n[[webhooks]]\nurl = "{URL}"\non = "mistake"', "its own name"),
    ],
)
def test_invalid_webhook_is_rejected_without_its_url(tmp_path, table, wanted):
    with pytest.raises(ConfigurationError) as rejected:
        load(tmp_path, f"[[webhooks]]\n{table}\n")
    assert wanted in str(rejected.value)
    assert "webhooks" in str(rejected.value)
    assert "a-token" not in f"{rejected.value} {rejected.value.hint}"


def test_removed_webhook_setting_is_rejected_by_name(tmp_path):
    with pytest.raises(ConfigurationError, match="template: unknown setting") as rejected:
        load(tmp_path, f'[[webhooks]]\nurl = "{URL}"\non = "mistake"\ntemplate = "{{}}"\n')
    assert "one form" in rejected.value.hint


def test_webhooks_may_come_from_the_environment_or_a_file(tmp_path, monkeypatch):
    value = json.dumps([{"url": URL, "on": "decision:block, mistake"}])
    monkeypatch.setenv("PERCEPTRON_WEBHOOKS", value)
    expected = (WebhookSettings(url=URL, on=("decision:block", "mistake")),)
    assert load_settings({}).settings.webhooks == expected
    monkeypatch.delenv("PERCEPTRON_WEBHOOKS")
    (tmp_path / "hooks").write_text(value)
    monkeypatch.setenv("PERCEPTRON_WEBHOOKS_FILE", str(tmp_path / "hooks"))
    assert load_settings({}).settings.webhooks == expected


@pytest.mark.parametrize(
    ("more", "known"),
    [
        ('[[decisions]]\nname = "block"\nthreshold = 1', "block"),
        ("[costs]\nfalse_positive = 1\nfalse_negative = 2", "positive"),
    ],
)
def test_unknown_decision_of_a_webhook_is_rejected(tmp_path, more, known):
    webhook = f'[[webhooks]]\nurl = "{URL}"\non = "decision:blok"\n'
    assert load(tmp_path, webhook).webhooks
    with pytest.raises(ConfigurationError, match=f"unknown decision 'decision:blok', expected {known}"):
        load(tmp_path, webhook + more)


def test_neither_token_nor_secret_is_shown():
    made = WebhookSettings(url=URL, on="mistake", secret="s3cret")
    assert made.address == "https://example.org/**********"
    for shown in (repr(made), str(made.shown()), made.title):
        assert "a-token" not in shown
        assert "s3cret" not in shown
