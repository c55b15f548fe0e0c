"""`train` makes a model in epochs; `test` and `predict` ask it, as the service would."""

import json
import subprocess
import sys

import pytest

from perceptron_core import (
    MulticlassPerceptron,
    Perceptron,
    from_bytes,
    hold_out,
    perceptron_test,
    perceptron_train,
    to_bytes,
)
from tests.support.perceptron_process import environment
from tests.support.reference_streams import phishing_events
from tests.support.speed import patience

EXAMPLES = [(event["features"], event["label"]) for event in map(json.loads, phishing_events())]
MANY = MulticlassPerceptron()


def rows(stderr):
    return [line.split() for line in stderr.splitlines() if line.split()[0].isdecimal()]


def test_train_gives_the_model_of_the_library(summary, pages):
    made = summary("train", pages, "--epochs", 4, "--seed", 3)
    training = perceptron_train(EXAMPLES, 4, seed=3)
    assert (made["epochs"], made["mistakes"], made["updates"]) == (4, training.mistakes, training.updates)
    assert made["training_error"] == training.best.training_error
    assert [epoch["mistakes"] for epoch in made["curve"]] == [epoch.mistakes for epoch in training.curve]
    assert (made["bias"], made["weights_nonzero"]) == (training.model.bias, len(training.model.weights))


def test_train_keeps_the_model_of_the_best_epoch(summary, pages, tmp_path):
    made = summary("train", pages, "--holdout", 0.3, "--epochs", 8, "--save", tmp_path / "model")
    training, held_out = hold_out(EXAMPLES, 0.3)
    expected = perceptron_train(training, 8, held_out=held_out)
    model = from_bytes((tmp_path / "model").read_bytes())
    assert model.weights == expected.model.weights
    assert made["best_epoch"] == expected.best_epoch
    assert made["held_out_error"] == perceptron_test(model, held_out).error
    assert made["held_out_error"] == min(epoch["held_out_error"] for epoch in made["curve"])


def test_train_shows_each_epoch_and_the_best_one(perceptron, pages):
    result = perceptron("train", pages, "--holdout", 0.3, "--epochs", 8)
    shown = rows(result.stderr)
    assert [int(row[0]) for row in shown] == [1, 2, 3, 4, 5, 6, 7, 8]
    best = min(shown, key=lambda row: float(row[4]))
    assert f"best epoch           {best[0]:>12}\n" in result.stdout


@pytest.mark.parametrize(
    ("options", "stopped"), [(["--epochs", 100], "converged"), (["--epochs", 1], "max_iter")]
)
def test_train_reports_why_it_ended(summary, options, stopped):
    text = "\n".join(f"{i % 2}\t{'odd' if i % 2 else 'even'} {i}" for i in range(20))
    made = summary("train", "-", "--input-format", "tsv", *options, stdin=text.encode())
    assert made["stopped"] == stopped
    assert made["converged"] == (stopped == "converged")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--holdout", 1.0], "holdout"),
        (["--epochs", 0], "epochs"),
        (["--model", "river.linear_model:LogisticRegression"], "is not a built-in model"),
    ],
)
def test_invalid_options_are_a_usage_error(perceptron, pages, arguments, message):
    result = perceptron("train", pages, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_file_without_enough_examples_fails(perceptron):
    line = b'{"id": "1", "text": "win", "label": true}\n'
    assert perceptron("train", "-", stdin=line).exit_code == 0
    result = perceptron("train", "-", "--holdout", 0.5, stdin=line)
    assert result.exit_code == 1
    assert "too few" in result.stderr
    assert perceptron("train", "-", stdin=b"").exit_code == 1


def test_saved_model_is_tested_without_learning(summary, pages, tmp_path):
    model = tmp_path / "model"
    made = summary("train", pages, "--epochs", 3, "--save", model)
    before = model.read_bytes()
    tested = summary("test", model, pages)
    assert tested["error_rate"] == made["training_error"]
    assert tested["mistakes"] == tested["confusion"]["true"]["false"] + tested["confusion"]["false"]["true"]
    assert 0.5 < tested["auc"] <= 1
    assert tested["examples"] == 1250
    assert model.read_bytes() == before


def test_binary_model_is_rejected_for_three_classes(perceptron, pages, tmp_path):
    perceptron("train", pages, "--save", tmp_path / "model")
    result = perceptron("test", tmp_path / "model", pages, "--classes", "a,b,c")
    assert result.exit_code == 2
    assert Perceptron.__name__ in result.stderr


def test_multiclass_model_is_tested_by_class_names(summary, tmp_path):
    messages = [{"id": str(n), "text": "abc"[n % 3], "label": "abc"[n % 3]} for n in range(30)]
    model = perceptron_train([({f"text={m['text']}": 1.0}, m["label"]) for m in messages], learner=MANY).model
    (tmp_path / "model").write_bytes(to_bytes(model))
    messages[0]["label"] = "b"
    lines = "\n".join(map(json.dumps, messages)).encode()
    tested = summary("test", tmp_path / "model", "-", "--classes", "a,b,c", stdin=lines)
    assert tested["mistakes"] == tested["confusion"]["b"]["a"] == 1
    assert "auc" not in tested


@pytest.fixture
def trained(perceptron, texts, tmp_path):
    """Train a model; return its file."""
    file = tmp_path / "model.bin"
    result = perceptron("replay", texts, "--classes", "ham,spam", "--save", file)
    assert result.exit_code == 0, result.stderr
    return file


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


def test_predict_prints_id_label_and_score_of_each_row(trained, predict):
    found = predict(trained, stdin=ndjson({"id": "a", "text": "win now"}, {"id": "b", "text": "see you"}))
    model = from_bytes(trained.read_bytes())
    assert found == [
        {"id": "a", "label": "spam", "score": model.score_one({"text=win": 1.0, "text=now": 1.0})},
        {"id": "b", "label": "ham", "score": model.score_one({"text=see": 1.0, "text=you": 1.0})},
    ]


def test_predict_returns_one_of_several_classes(perceptron, predict, tmp_path):
    names = ["a", "b", "c"]
    events = [{"id": str(n), "text": f"word{n % 3}", "label": names[n % 3]} for n in range(90)]
    given = ("--classes", "a,b,c", "--save", tmp_path / "model.bin")
    assert perceptron("replay", "-", *given, stdin=ndjson(*events)).exit_code == 0
    found = predict(
        tmp_path / "model.bin", stdin=ndjson(*({"id": "x", "text": f"word{n}"} for n in range(3)))
    )
    assert [prediction["label"] for prediction in found] == names


def test_predict_ignores_labels(trained, predict):
    stdin = ndjson({"id": "a", "text": "win", "label": "unheard of"}, {"id": "b", "text": "win"})
    labelled, unlabelled = predict(trained, stdin=stdin)
    assert labelled | {"id": "b"} == unlabelled


def test_unreadable_row_is_named_and_skipped(perceptron, trained):
    result = perceptron("predict", trained, "-", stdin=b'{"id":"a","text":"win"}\nnot json\n')
    assert len(result.stdout.splitlines()) == 1
    assert "rejected: stdin:2: invalid_json" in result.stderr


@pytest.mark.parametrize(("n_rows", "code"), [(19, 1), (20, 0)])
def test_exit_code_is_1_above_five_percent_unreadable_rows(perceptron, trained, n_rows, code):
    rows = b'{"id":"a","text":"win"}\n' * (n_rows - 1) + b"not json\n"
    assert perceptron("predict", trained, "-", stdin=rows).exit_code == code


def test_exit_code_is_1_without_readable_rows(perceptron, trained):
    result = perceptron("predict", trained, "-", stdin=b"not json\n")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "all 1 rows are rejected" in result.stderr


def test_line_from_a_pipe_is_predicted_at_once(trained):
    command = [sys.executable, "-m", "service", "predict", trained, "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment({})
    ) as process:
        for name in ("a", "b"):
            process.stdin.write(ndjson({"id": name, "text": "win"}))
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["id"] == name
        process.stdin.close()
        assert process.wait(patience(30)) == 0
