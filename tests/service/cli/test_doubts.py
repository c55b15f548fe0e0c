"""Figures that may mislead end with a warning, and with exit code 1 where nothing is committed."""

import json

import pytest

COMMANDS = ("replay", "compare", "train", "test")


def ndjson(labels):
    events = ({"id": f"{n}", "text": ("hi", "win")[n % 2], "label": each} for n, each in enumerate(labels))
    return "".join(f"{json.dumps(event)}\n" for event in events)


def labels(n_refused, *, of=100, second="spam"):
    return [*["egg"] * n_refused, *["ham", second] * of][:of]


@pytest.fixture
def run(perceptron):
    """Run a command on events that have these labels."""

    def run(command, labels, *options):
        perceptron("train", "-", "--classes", "ham,spam", "--save", "m.bin", stdin=ndjson(["ham", "spam"]))
        return perceptron(command, *["m.bin"] * (command == "test"), "-", *options, stdin=ndjson(labels))

    return run


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("labels", "why"),
    [
        (labels(6), "6 of 100 records (6.0%) were refused"),
        (labels(0, second="ham"), "no label is of the class 'spam'"),
    ],
)
def test_what_may_mislead_is_exit_code_1_and_the_last_line(run, command, labels, why):
    result = run(command, labels, "--classes", "ham,spam")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == f"warning: these figures may mislead: {why}"


@pytest.mark.parametrize("command", COMMANDS)
def test_a_twentieth_refused_is_no_reason_to_doubt(run, command):
    assert run(command, labels(5), "--classes", "ham,spam").exit_code == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_the_summary_is_json_all_the_same(run, command):
    result = run(command, labels(10), "--classes", "ham,spam", "--format", "json")
    assert (result.exit_code, bool(json.loads(result.stdout))) == (1, True)


def test_of_many_classes_without_a_label_a_few_are_named(run):
    result = run("replay", ["c1", "c2"] * 9, "--classes", ",".join(f"c{n}" for n in range(1, 9)))
    assert "no label is of the class 'c3' or 'c4' or 'c5' or 3 others" in result.stderr


@pytest.mark.parametrize(("classes", "warns"), [("ham,spam", False), ("ham,spamm", True)])
def test_serve_warns_at_the_end_of_what_it_has_committed(perceptron, broker, classes, warns):
    at = ("--broker", broker)
    perceptron("produce", "-", "--no-validate", *at, stdin=ndjson(labels(0)))
    result = perceptron("serve", "--exit-at-end", "--http", "", "--classes", classes, *at)
    said = (
        "these figures may mislead: 50 of 100 records (50.0%) were refused; no label is of the class 'spamm'"
    )
    assert (said in result.stderr.splitlines()[-1]) == warns
    assert result.exit_code == 0


def test_serve_does_not_ask_for_labels_before_the_first(perceptron, broker):
    at = ("--broker", broker)
    perceptron("produce", "-", *at, stdin=b'{"id":"a","text":"hi"}\n')
    result = perceptron("serve", "--exit-at-end", "--http", "", "--classes", "ham,spam", *at)
    assert "mislead" not in result.stderr
