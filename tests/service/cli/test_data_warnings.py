"""Figures that may mislead end with a warning, and with exit code 1 where nothing is committed."""

import json
import random

import pytest

COMMANDS = ("replay", "compare", "train", "test")


def ndjson(labels):
    events = ({"id": f"{n}", "text": ("hi", "win")[n % 2], "label": each} for n, each in enumerate(labels))
    return "".join(f"{json.dumps(event)}\n" for event in events)


def labels(n_rejected, *, of=100, second="spam"):
    return [*["egg"] * n_rejected, *["ham", second] * of][:of]


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
        (labels(6), "6 of 100 records (6.0%) were rejected"),
        (labels(0, second="ham"), "no label has the class 'spam'"),
    ],
)
def test_misleading_result_exits_with_1(run, command, labels, why):
    result = run(command, labels, "--classes", "ham,spam")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == f"warning: these results may mislead: {why}"


@pytest.mark.parametrize("command", COMMANDS)
def test_five_percent_rejected_gives_no_warning(run, command):
    assert run(command, labels(5), "--classes", "ham,spam").exit_code == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_warnings_do_not_change_the_json_summary(run, command):
    result = run(command, labels(10), "--classes", "ham,spam", "--format", "json")
    assert (result.exit_code, bool(json.loads(result.stdout))) == (1, True)


def test_only_some_unlabelled_classes_are_named(run):
    result = run("replay", ["c1", "c2"] * 9, "--classes", ",".join(f"c{n}" for n in range(1, 9)))
    assert "no label has the class 'c3' or 'c4' or 'c5' or 3 others" in result.stderr


@pytest.mark.parametrize(("classes", "warns"), [("ham,spam", False), ("ham,spamm", True)])
def test_serve_warns_at_its_end_about_committed_counts(perceptron, broker, classes, warns):
    at = ("--broker", broker)
    perceptron("produce", "-", "--no-validate", *at, stdin=ndjson(labels(0)))
    result = perceptron("serve", "--exit-at-end", "--http", "", "--classes", classes, *at)
    said = (
        "these results may mislead: 50 of 100 records (50.0%) were rejected; no label has the class 'spamm'"
    )
    assert (said in result.stderr.splitlines()[-1]) == warns
    assert result.exit_code == 0


def test_serve_does_not_ask_for_labels_before_the_first(perceptron, broker):
    at = ("--broker", broker)
    perceptron("produce", "-", *at, stdin=b'{"id":"a","text":"hi"}\n')
    result = perceptron("serve", "--exit-at-end", "--http", "", "--classes", "ham,spam", *at)
    assert "mislead" not in result.stderr


RARE = random.Random(2).choices(["ham", "spam"], [85, 15], k=400)
TURNED = ["ham", "ham", "spam", "spam"] * 30
WORSE = {
    "features say nothing": (RARE, "always predicting 'ham' makes only", "try --model auto, which scales"),
    "turned round": (TURNED, "always predicting 'ham' makes only 60", "the opposite is right more often"),
    "the last label": (
        (["ham"] * 10 + ["spam"] * 10) * 8,
        "repeating the last label makes",
        "try --model auto, which scales",
    ),
    "one class": (["spam"] * 120, "always predicting 'spam' makes only 0", "add labels of other classes"),
}


@pytest.mark.parametrize("name", WORSE)
def test_replay_worse_than_a_baseline_gives_a_hint(run, name):
    labels, said, hint = WORSE[name]
    result = run("replay", labels, "--classes", "ham,spam", "--model-param", "learning_rate=0.3")
    assert f"but {said}" in result.stderr
    assert hint in result.stderr


def test_model_better_than_the_baselines_gives_no_warning(run):
    assert "but always predicting" not in run("replay", labels(0, of=200), "--classes", "ham,spam").stderr


def test_serve_and_status_show_warning_and_next_step(perceptron, broker):
    at = ("--broker", broker)
    perceptron("produce", "-", *at, "--classes", "ham,spam", stdin=ndjson(RARE))
    told = perceptron("serve", "--exit-at-end", "--http", "", "--classes", "ham,spam", *at).stderr
    assert "in 400 labels, but always predicting 'ham' makes only " in told
    assert "try --model auto, which scales" in told
    told = perceptron("status", *at).stderr
    assert "in 400 labels, but always predicting 'ham' makes only " in told
    assert "try --model auto, which scales" in told


def leaking(n, **fields):
    label = n % 7 == 0
    return {"id": f"{n}", "features": {"size": n % 5} | {k: f(n) for k, f in fields.items()}, "label": label}


LEAKS = {
    "the label in other words": ({"outcome": lambda n: "yes" if n % 7 == 0 else "no"}, "outcome"),
    "codes": ({"outcome": lambda n: n % 3 if n % 7 == 0 else 7 + n % 2}, "outcome"),
    "nearly all": ({"refund": lambda n: 903 if n == 1 else n + 900 * (n % 7 == 0)}, "refund"),
    "0 unless it is true": ({"paid_back": lambda n: n + 1 if n % 7 == 0 else 0}, "paid_back"),
    "two": ({"a": lambda n: n % 7 == 0, "b": lambda n: n % 7 > 0}, "a, b"),
}


@pytest.mark.parametrize("command", ["replay", "compare"])
@pytest.mark.parametrize("model", ["perceptron", "auto"])
@pytest.mark.parametrize("name", LEAKS)
def test_feature_that_determines_the_label_is_named_once(perceptron, command, model, name):
    fields, said = LEAKS[name]
    rows = "".join(f"{json.dumps(leaking(n, **fields))}\n" for n in range(300))
    told = perceptron(command, "-", "--model", model, stdin=rows).stderr
    assert told.count(f"warning: {said}: determines the label") == 1
    assert f"--events-features '*' --events-exclude {said.replace(' ', '')}" in told


@pytest.mark.parametrize("command", ["replay", "compare"])
def test_predictive_feature_is_not_reported_as_a_leak(perceptron, command):
    wide = {f"pixel {k}": lambda n: n % 7 == 0 for k in range(500)} if command == "replay" else {}
    rows = "".join(f"{json.dumps(leaking(n, part=lambda n: n % 14 == 0, **wide))}\n" for n in range(300))
    assert "tells the label" not in perceptron(command, "-", "--model", "perceptron", stdin=rows).stderr


@pytest.mark.parametrize(
    ("named", "warns"), [({}, True), ({"class": "fraud"}, False), ({"class": "ok"}, False)]
)
def test_decision_about_the_majority_class_gives_a_warning(
    run, perceptron, broker, monkeypatch, named, warns
):
    decision = {"name": "block", "min_precision": 0.9} | named
    monkeypatch.setenv("PERCEPTRON_DECISIONS", json.dumps([decision]))
    rows, at = ["fraud", "ok", "ok", "ok"] * 30, ("--broker", broker)
    perceptron("produce", "-", *at, "--classes", "fraud,ok", stdin=ndjson(rows))
    told = [
        run("replay", rows, "--classes", "fraud,ok").stderr,
        perceptron("serve", "--exit-at-end", "--http", "", "--classes", "fraud,ok", *at).stderr,
    ]
    monkeypatch.delenv("PERCEPTRON_DECISIONS")
    told.append(perceptron("status", *at).stderr)
    assert [("'block': about 'ok', the class of 90 of 120 labels" in each) == warns for each in told] == [
        True
    ] * 3
    assert "'block'" not in run("replay", rows, "--classes", "ok,fraud").stderr.partition("hint")[0]
