"""What can be done wrong, each with what is said of it: what, where, why, and a hint; never a traceback."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.perceptron_process import environment

USAGE, FAILURE = 2, 1


FILES = {
    "events.ndjson": '{"id": "a", "text": "win", "label": true}\n' * 20,
    "unlabelled.ndjson": '{"id": "a", "text": "win"}\n',
    "bad.toml": "group = = 1\n",
    "unknown.toml": "hash_bit = 3\n",
    "removed.toml": "workers = 2\n",
    "acks.toml": "[kafka]\nacks = 1\n",
    "raising.py": (
        "def build():\n    raise RuntimeError('no licence')\n\n"
        "class Model:\n"
        "    def predict_proba_one(self, x):\n        raise ValueError('not today')\n"
        "    def learn_one(self, x, y):\n        pass\n"
    ),
}
WRONG_USES = [
    ("config show --config bad.toml", USAGE, "bad.toml: not TOML: ", "write a setting as name = value"),
    ("config show --config acks.toml", USAGE, "kafka.acks (from acks.toml): unknown", "needs acks=all"),
    ("serve --kafka-acks 1", USAGE, "unknown option '--kafka-acks'", "needs acks=all"),
    ("serve --hash-bit 3", USAGE, "did you mean '--hash-bits'?", "serve --help"),
    ("serv", USAGE, "'serv'", "--help"),
    ("prodcue", USAGE, "'produce'", "`perceptron"),
    ("schema evnt", USAGE, "'event'", "`perceptron"),
    ("produce", USAGE, "FILE", "`perceptron produce --help"),
    ("test model.bin", USAGE, "missing argument 'FILE|-'", "perceptron test --help"),
    ("test nomodel events.ndjson", FAILURE, "nomodel: cannot be read: No such file", "train --save"),
    ("serve --http :x", USAGE, "http = ':x' (from command line)", "serve --help-all"),
    ("status --broker sqlite:///nowhere.db", FAILURE, "nowhere.db: no stream found", "--broker"),
    ("consume nothing --exit-at-end", FAILURE, "topic 'nothing' does not exist in ", "create the topic"),
    ("serve --model perceptrn", USAGE, "model: unknown model 'perceptrn'", "did you mean perceptron?"),
    ("serve --model raising.py:build", USAGE, "RuntimeError: no licence", "must return a River classifier"),
    ("serve --model-param x", USAGE, "expected key=value, got 'x'", "--help"),
    ("serve --model river.naive_bayes:BernoulliNB", USAGE, "checkpoint_key: not set", "CHECKPOINT_KEY"),
    (
        "replay events.ndjson --model raising.py:Model",
        FAILURE,
        "all 20 messages were rejected",
        "the model of --model",
    ),
    ("serve --text words --text chars", USAGE, "expected one value, got 2: words, chars", "serve --help"),
    ("serve --classes ham", USAGE, "classes = 'ham' (from command line)", "classes"),
    ("serve --model scw --classes a,b,c", USAGE, "classes: 3 class names", "multiclass model: auto, "),
    ("replay bad.toml --input-format ndjson", FAILURE, "all 1 messages were", "perceptron schema event"),
    ("compare unlabelled.ndjson", FAILURE, "no labelled event", "--label-column"),
    ("compare spam.tsv", FAILURE, "no labelled event", "--classes ham,spam"),
    ("replay spam.tsv", FAILURE, "all 1 messages were rejected", "--classes ham,spam"),
    ("serve --workers 2", USAGE, "unknown option '--workers'", "docker compose up --scale"),
    ("config show --config removed.toml", USAGE, "workers (from removed.toml): unknown setting", "replicas"),
]
"""Of each command line: the exit code, and what its error and its hint have to name."""


@pytest.fixture(autouse=True)
def files(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "spam.tsv").write_text("spam\twin a prize\n", encoding="utf-8")


def said_by(stderr):
    """Return the error and the hint, as they stand in lines for people or in the log."""
    *_, last = stderr.splitlines()
    if last.startswith("{"):
        logged = json.loads(last)
        return logged["message"], logged["hint"]
    error, _, hint = stderr.partition("error: ")[2].partition("\nhint: ")
    return error, hint


@pytest.mark.parametrize(
    ("arguments", "code", "said", "hinted"), WRONG_USES, ids=[each[0] for each in WRONG_USES]
)
def test_wrong_use_is_explained_with_a_hint(perceptron, tmp_path, monkeypatch, arguments, code, said, hinted):
    monkeypatch.setenv("PERCEPTRON_BROKER", f"sqlite:///{tmp_path}/stream.db")
    monkeypatch.setenv("PERCEPTRON_HTTP", "")  # the usual port may be taken here
    perceptron("produce", "events.ndjson")
    result = perceptron(*arguments.split(" "))
    assert result.exit_code == code
    error, hint = said_by(result.stderr)
    assert said in error
    assert hinted in hint
    assert "Traceback" not in result.stderr


def test_dissimilar_option_is_not_suggested(perceptron):
    assert "did you mean" not in perceptron("serve", "--nope").stderr


def test_unknown_variable_gives_a_warning_with_a_suggestion(perceptron, monkeypatch):
    monkeypatch.setenv("PERCEPTRON_BROKR", "x")
    stderr = perceptron("config", "show").stderr
    assert stderr.startswith("warning: unknown environment variable PERCEPTRON_BROKR")
    assert "did you mean PERCEPTRON_BROKER?" in stderr


def test_client_variable_gives_a_warning_with_the_used_setting(perceptron, monkeypatch):
    monkeypatch.setenv("PERCEPTRON_KAFKA__ACKS", "1")
    warning, hint = perceptron("config", "show").stderr.splitlines()
    assert warning.endswith("unknown environment variable PERCEPTRON_KAFKA__ACKS is ignored")
    assert "needs acks=all" in hint


@pytest.mark.parametrize(
    ("redirection", "said"), [("<&-", "error: stdin is closed\n"), (">&-", "error: stdout is closed\n")]
)
def test_closed_stdin_or_stdout_is_named(tmp_path, redirection, said):
    source = "-" if "<" in redirection else "events.ndjson"
    line = f"{sys.executable} -m service replay {source} {redirection}"
    done = subprocess.run(["/bin/sh", "-c", line], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == FAILURE
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("options", ["replay events.ndjson", "serve --exit-at-end --http ''"])
def test_closed_stderr_is_not_a_failure(perceptron, broker, options):
    perceptron("produce", "events.ndjson", "--broker", broker)
    line = f"{sys.executable} -m service {options} 2>&-"
    given = {"env": environment({"broker": broker}), "capture_output": True, "text": True}
    done = subprocess.run(["/bin/sh", "-c", line], **given, check=False)
    assert (done.returncode, bool(done.stdout)) == (0, options.startswith("replay"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "arguments",
    [["replay", "events.ndjson", "--format", "json"], ["consume", "events", "--exit-at-end"], ["--help"]],
)
def test_full_disk_is_named_with_a_hint(perceptron, broker, tmp_path, arguments):
    perceptron("produce", "events.ndjson", "--broker", broker)
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "service", *arguments],
            cwd=tmp_path,
            env=environment({"broker": broker}),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == FAILURE
    assert said_by(done.stderr) == ("the output: No space left on device", "free space on its file system\n")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_unreadable_secret_file_gives_a_hint(perceptron, tmp_path, monkeypatch):
    path = tmp_path / "secret"
    path.write_text("hunter2")
    path.chmod(0)
    monkeypatch.setenv("PERCEPTRON_CHECKPOINT_KEY_FILE", str(path))
    result = perceptron("config", "show")
    assert result.exit_code == USAGE
    assert "Permission denied" in result.stderr
