"""`predict` answers rows without labels as the model of the file would in the service."""

import json
import subprocess
import sys

import pytest

from perceptron_core import from_bytes
from tests.support.perceptron_process import environment

WORDS = {"ham": "see you at noon my friend", "spam": "win a big prize now friend"}


@pytest.fixture
def trained(perceptron, tmp_path):
    """Train a model with options; return its file."""

    def train(*options):
        path = tmp_path / "texts.tsv"
        path.write_text(
            "".join(f"{label}\t{text[n % 9 :]}\n" for n in range(40) for label, text in WORDS.items())
        )
        file = tmp_path / "model.bin"
        result = perceptron("replay", path, "--classes", "ham,spam", *options, "--save", file)
        assert result.exit_code == 0, result.stderr
        return file

    return train


@pytest.fixture
def predict(perceptron):
    """Predict rows; return what is printed."""

    def run(model, *arguments, stdin):
        result = perceptron("predict", model, "-", *arguments, stdin=stdin)
        assert result.exit_code == 0, result.stderr
        return [json.loads(line) for line in result.stdout.splitlines()]

    return run


def ndjson(*events):
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_prints_id_label_and_score_of_each_row(trained, predict):
    file = trained()
    found = predict(file, stdin=ndjson({"id": "a", "text": "win now"}, {"id": "b", "text": "see you"}))
    model = from_bytes(file.read_bytes())
    assert found == [
        {"id": "a", "label": "spam", "score": model.score_one({"text=win": 1.0, "text=now": 1.0})},
        {"id": "b", "label": "ham", "score": model.score_one({"text=see": 1.0, "text=you": 1.0})},
    ]


def test_answers_in_one_of_several_classes(perceptron, predict, tmp_path):
    names = ["a", "b", "c"]
    events = [{"id": str(n), "text": f"word{n % 3}", "label": names[n % 3]} for n in range(90)]
    given = ("--classes", "a,b,c", "--save", tmp_path / "model.bin")
    assert perceptron("replay", "-", *given, stdin=ndjson(*events)).exit_code == 0
    found = predict(
        tmp_path / "model.bin", stdin=ndjson(*({"id": "x", "text": f"word{n}"} for n in range(3)))
    )
    assert [answer["label"] for answer in found] == names


def test_does_not_read_labels(trained, predict):
    stdin = ndjson({"id": "a", "text": "win", "label": "unheard of"}, {"id": "b", "text": "win"})
    labelled, unlabelled = predict(trained(), stdin=stdin)
    assert labelled | {"id": "b"} == unlabelled


def test_a_row_that_cannot_be_read_is_named_and_the_others_are_answered(perceptron, trained):
    result = perceptron("predict", trained(), "-", stdin=b'{"id":"a","text":"win"}\nnot json\n')
    assert len(result.stdout.splitlines()) == 1
    assert "rejected: stdin:2: invalid_json" in result.stderr


@pytest.mark.parametrize(("n_rows", "code"), [(19, 1), (20, 0)])
def test_the_exit_code_is_1_if_more_than_one_row_in_20_cannot_be_read(perceptron, trained, n_rows, code):
    rows = b'{"id":"a","text":"win"}\n' * (n_rows - 1) + b"not json\n"
    assert perceptron("predict", trained(), "-", stdin=rows).exit_code == code


def test_the_exit_code_is_1_if_no_row_can_be_read(perceptron, trained):
    result = perceptron("predict", trained(), "-", stdin=b"not json\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "none of 1 rows can be read" in result.stderr


def test_a_line_from_a_pipe_is_answered_at_once(trained):
    command = [sys.executable, "-m", "service", "predict", trained(), "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment({})
    ) as process:
        for name in ("a", "b"):
            process.stdin.write(ndjson({"id": name, "text": "win"}))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == name
        process.stdin.close()
        assert process.wait(30) == 0
