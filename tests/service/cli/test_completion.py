"""A shell is offered models, topics and settings, as click answers it."""

import pytest
from click.shell_completion import ShellComplete

from service.cli.app import cli
from service.models.registry import BUILT_IN
from service.settings.fields import setting_values
from service.settings.load import Settings


def offered(*words):
    """Return what is offered for the last of the words, the others typed before it."""
    *before, incomplete = words
    found = ShellComplete(cli, {}, "perceptron", "_PERCEPTRON_COMPLETE").get_completions(before, incomplete)
    return [(item.value, item.type) for item in found]


def names(*words):
    return [value for value, _ in offered(*words)]


@pytest.mark.parametrize("command", ["serve", "replay", "compare", "train"])
def test_the_model_is_completed_by_the_built_in_ones(command):
    assert names(command, "--model", "") == list(BUILT_IN)
    assert names(command, "--model", "perc") == ["perceptron"]


def test_a_model_that_is_a_path_is_completed_as_a_file():
    assert offered("serve", "--model", "./my") == [("./my", "file")]


@pytest.mark.parametrize(
    "words", [["replay"], ["check-input"], ["produce"], ["plot", "boundary"], ["predict", "m.bin"], ["train"]]
)
def test_a_file_of_examples_is_completed_by_its_name(words):
    assert offered(*words, "my") == [("my", "file")]


@pytest.mark.parametrize("words", [["consume"], ["produce", "--topic"], ["serve", "--events-topic"]])
def test_a_topic_is_completed_by_those_of_the_settings(words, monkeypatch, tmp_path):
    monkeypatch.setenv("PERCEPTRON_EVENTS_TOPIC", "mails")
    (tmp_path / ".env").write_text("PERCEPTRON_LABELS_TOPIC=mail-labels\n", encoding="utf-8")
    assert names(*words, "") == [
        "mails",
        "mail-labels",
        "predictions",
        "dead-letters",
        "checkpoints",
        "signals",
    ]
    assert names(*words, "mail-") == ["mail-labels"]


def test_a_topic_is_completed_by_those_of_the_file_given(tmp_path):
    (tmp_path / "my.toml").write_text('events_topic = "mails"\n', encoding="utf-8")
    assert names("consume", "--config", "my.toml", "m") == ["mails"]


def test_settings_that_are_wrong_do_not_keep_a_topic_from_being_completed(tmp_path):
    (tmp_path / ".env").write_text("PERCEPTRON_HASH_BITS=many\n", encoding="utf-8")
    assert names("consume", "ev") == ["events"]


def test_a_setting_is_completed_by_its_name():
    assert names("config", "show", "") == list(setting_values(Settings()))
    assert names("config", "show", "hash") == ["hash_bits", "hash_key"]
