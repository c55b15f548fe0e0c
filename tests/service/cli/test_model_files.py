"""A model file knows what it was made with: silence means that, and a contradiction is rejected by name."""

import json
from pathlib import Path

import pytest

from perceptron_core import Perceptron, from_bytes, to_bytes
from service.stream.opening import open_transport
from tests.service.cli.standing_stream import serve

CHARS = ("--text", "chars", "--ngrams", "4", "--classes", "ham,spam")
KEY = "a secret of some length"


@pytest.fixture(params=["replay", "train"])
def model(request, perceptron, texts, tmp_path):
    """Return a file with a model of character 4-grams."""
    result = perceptron(request.param, texts, *CHARS, "--save", tmp_path / "model.bin")
    assert result.exit_code == 0, result.stderr
    return tmp_path / "model.bin"


@pytest.fixture
def summary(perceptron, texts, model):
    """Test the model with options; return the summary."""

    def run(*options):
        result = perceptron("test", model, texts, *options, "--format", "json")
        assert result.exit_code == 0, result.stderr
        found = json.loads(result.stdout)
        del found["seconds"]
        return found, result.stderr

    return run


def test_model_is_tested_with_its_own_settings_by_default(summary):
    silent, stderr = summary()
    assert silent == summary(*CHARS)[0]
    assert silent["mistakes"] == 0
    assert list(silent["confusion"]) == ["ham", "spam"]
    assert "warning" not in stderr


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (("--text", "words"), "text"),
        (("--ngrams", "3"), "ngrams"),
        (("--classes", "spam,ham"), "classes"),
        (("--classes", "ham,junk"), "classes"),
        (("--no-lowercase",), "lowercase"),
        (("--hash-bits", "10"), "hash_bits"),
    ],
)
def test_option_that_contradicts_the_file_is_rejected_by_name(perceptron, model, texts, options, name):
    result = perceptron("test", model, texts, *options)
    assert result.exit_code == 2
    assert f" as in {model}" in result.stderr
    assert "(command line)" in result.stderr
    assert "hint: omit it" in result.stderr


def test_contradicting_variable_or_settings_file_is_rejected(perceptron, model, texts, tmp_path, monkeypatch):
    (tmp_path / "settings.toml").write_text('text = "words"')
    result = perceptron("test", model, texts, "--config", tmp_path / "settings.toml")
    assert result.exit_code == 2
    assert "got 'words'" in result.stderr
    monkeypatch.setenv("PERCEPTRON_MODEL", "arow")
    result = perceptron("test", model, texts)
    assert result.exit_code == 2
    assert "got 'arow' (environment PERCEPTRON_MODEL)" in result.stderr


def test_model_file_without_settings_gives_a_warning(summary, perceptron, model, texts):
    model.write_bytes(to_bytes(from_bytes(model.read_bytes())))
    told, stderr = summary(*CHARS)
    assert told["mistakes"] == 0
    assert "warning: " in stderr
    assert "has no settings" in stderr


@pytest.mark.parametrize("other", ["another secret of some length", ""])
def test_model_of_another_hash_key_is_rejected_without_the_key(perceptron, tmp_path, monkeypatch, other):
    events, model = tmp_path / "events.ndjson", tmp_path / "model.bin"
    events.write_text('{"i": 1, "of": "a", "y": true}\n{"i": 2, "of": "b", "y": false}\n')
    mapping = {"events-id": "i", "events-label": "y", "events-features": "of", "events-tenant": "of"}
    options = [word for name, path in mapping.items() for word in (f"--{name}", path)]
    monkeypatch.setenv("PERCEPTRON_HASH_KEY", KEY)
    made = perceptron("replay", events, *options, "--hash-bits", "10", "--save", model)
    assert made.exit_code == 0, made.stderr
    assert KEY.encode() not in model.read_bytes()
    assert perceptron("test", model, events).exit_code == 0
    monkeypatch.setenv("PERCEPTRON_HASH_KEY", other)
    result = perceptron("test", model, events)
    assert (result.exit_code, KEY in result.stderr) == (2, False)
    assert "error: hash_key: expected fingerprint " in result.stderr


def test_classes_without_names_may_be_given_names(perceptron, texts, tmp_path):
    numbered = tmp_path / "numbered.tsv"
    numbered.write_text(texts.read_text().replace("ham\t", "0\t").replace("spam\t", "1\t"))
    perceptron("train", numbered, "--save", tmp_path / "model.bin")
    result = perceptron("test", tmp_path / "model.bin", texts, "--classes", "ham,spam", "--format", "json")
    assert json.loads(result.stdout)["mistakes"] == 0


def test_inspect_shows_the_settings_of_a_model(perceptron, model):
    assert "text='chars', ngrams=(4, 4)" in perceptron("inspect", model).stdout
    shown = json.loads(perceptron("inspect", model, "--format", "json").stdout)
    assert shown["settings"]["classes"] == ["ham", "spam"]


def test_settings_of_another_release_are_rejected(perceptron, model, texts):
    model.write_bytes(to_bytes(from_bytes(model.read_bytes()), {"text": "syllables"}))
    result = perceptron("test", model, texts)
    assert result.exit_code == 1
    assert "does not accept its settings: text: expected 'words', 'chars' or 'scripts'\n" in result.stderr


@pytest.fixture
def code(tmp_path):
    """Return the name of a factory that leaves a file where it runs, and that file."""
    (tmp_path / "code.py").write_text(
        "from pathlib import Path\nfrom perceptron_core import Perceptron\n"
        f"Path({str(tmp_path / 'ran')!r}).touch()\ndef make(**_): return Perceptron()"
    )
    return f"{tmp_path / 'code.py'}:make", tmp_path / "ran"


READERS = {
    "predict": ["predict", "model.bin", "texts.tsv"],
    "test": ["test", "model.bin", "texts.tsv"],
    "inspect": ["inspect", "model.bin"],
    "import": ["checkpoint", "import", "model.bin", "--partition", "0"],
}


@pytest.mark.parametrize("as_type", [str, str.encode])
@pytest.mark.parametrize("command", READERS)
def test_commands_do_not_run_code_named_by_a_model_file(perceptron, texts, code, broker, command, as_type):
    name, ran = code
    settings = {"model": as_type(name), "model_params": {"a": 1}, "classes": ("ham", "spam")}
    (texts.parent / "model.bin").write_bytes(to_bytes(Perceptron(), settings))
    is_import = command.startswith("import")
    if is_import:
        serve(open_topics(broker))
    result = perceptron(*READERS[command], *(["--broker", broker] if is_import else []))
    assert not ran.exists()
    if is_import:
        assert result.exit_code == 2
        assert f"model.bin was made with {name}, which is code" in result.stderr
        assert f"hint: --model {name}" in result.stderr
    else:
        assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize("command", READERS)
@pytest.mark.parametrize(
    "settings", [{"model": "arow"}, {"model": "perceptron", "classes": ("ham", "spam", "eggs")}]
)
def test_model_that_contradicts_its_own_settings_is_rejected(perceptron, texts, broker, command, settings):
    (texts.parent / "model.bin").write_bytes(to_bytes(Perceptron(), settings))
    is_import = command.startswith("import")
    result = perceptron(*READERS[command], *(["--broker", broker] if is_import else []))
    assert result.exit_code == 1
    assert f"model.bin: expected {settings['model']} as in its settings, got a Perceptron" in result.stderr


def test_code_named_by_the_user_runs(perceptron, code, broker):
    name, ran = code
    serve(open_topics(broker), model=name)
    Path("model.bin").write_bytes(to_bytes(Perceptron(), {"model": name, "model_params": {}}))
    result = perceptron(*READERS["import"], "--broker", broker, "--model", name)
    assert result.exit_code == 0, result.stderr
    assert ran.exists()


def open_topics(broker):
    transport = open_transport(broker)
    transport.ensure_topics({"events": 1})
    return transport
