"""This release reads the files of former releases, and what it writes itself."""

import json
import shutil
from pathlib import Path

import pytest

import service
from tools.release import golden

FORMER = sorted(Path(__file__).parent.glob("golden/*/*/"))
"""Empty until the tag 0.2.0."""
PRESENT = ("auto", "hoeffding-forest", "multiclass-perceptron", "perceptron", "perceptron-hashed")
"""One of each kind of state."""


@pytest.fixture(params=[*FORMER, *PRESENT], ids=lambda each: "-".join(Path(each).parts[-2:]))
def folder(request, tmp_path):
    """Return a copy of a golden folder, or one that is written now."""
    copy = tmp_path / "golden"
    if request.param in FORMER:
        shutil.copytree(request.param, copy)
    else:
        model = request.param.removesuffix("-hashed")
        golden.write(copy, model, hash_bits=0 if model == request.param else 10)
    return copy


@pytest.fixture
def run(folder):
    """Return a function that runs a command on the folder's stream with the folder's settings."""
    given = ("--config", str(folder / "settings.toml"), "--broker", f"sqlite:///{folder / 'stream.db'}")
    return lambda *arguments: golden.run(*map(str, arguments), *given)


def test_golden_model_and_stream_give_their_scores(folder, run):
    events = [json.loads(line) for line in (folder / "events.ndjson").read_text().splitlines()]
    expected = json.loads((folder / "scores.json").read_text())
    run("checkpoint", "export", folder / "restored.bin")
    for name in ("model.bin", "restored.bin"):
        assert service.load(folder / name).score(events) == expected


def test_golden_stream_is_continued_and_verified(folder, run):
    run("produce", folder / "events.ndjson")
    run("serve", "--exit-at-end")
    run("verify")


def test_golden_chain_of_linear_model_has_increments(tmp_path):
    golden.write(tmp_path / "golden", "perceptron")
    shown = golden.run("checkpoint", "show", "--broker", f"sqlite:///{tmp_path}/golden/stream.db")
    parents = [each["parent"] for each in json.loads(shown)["partitions"][0]["snapshots"]]
    assert parents[:2] == [None, 0]
    assert None not in parents[1:]
