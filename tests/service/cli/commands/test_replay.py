"""`replay` gives the reference figures, shows how it learns, and says what it could not use."""

import csv
import io
import json
import re
import subprocess
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from tests.support.perceptron_process import environment
from tests.support.reference_streams import phishing_events, reference_file, run_bare

SMS_FIGURES = {"events": 5574, "labelled": 5574, "mistakes": 171, "updates": 207, "rejected": 0}
SMS_MODEL = {"bias": -7, "weights_nonzero": 1408}


@pytest.fixture
def replay(summary):
    """Replay a file or a text; return the summary."""
    return partial(summary, "replay")


def ndjson(events):
    return b"".join(event + b"\n" for event in events)


def rows(stderr):
    """Return the rows of the doubling table, without its two lines of header."""
    return [line.split() for line in stderr.splitlines() if line.split()[0].isdecimal()]


def test_sms_as_text_gives_the_same_results(replay, tmp_path):
    path = tmp_path / "sms.tsv"
    text = Path(reference_file("sms/SMSSpamCollection.tsv")).read_text(encoding="utf-8").lower()
    path.write_text(re.sub(r"[^a-z0-9\t\n]", " ", text), encoding="utf-8")
    assert replay(path, "--classes", "ham,spam").items() >= (SMS_FIGURES | SMS_MODEL).items()


def test_a9a_as_libsvm_gives_the_reference_results(replay):
    summary = replay(reference_file("a9a/a9a"), "--input-format", "libsvm")
    assert (summary["events"], summary["mistakes"], summary["updates"]) == (32561, 6577, 6948)


def as_csv(events):
    examples = [json.loads(event) for event in events]
    text = io.StringIO()
    writer = csv.writer(text)
    names = list(examples[0]["features"])
    writer.writerow(["id", *names, "label"])
    for example in examples:
        values = [repr(example["features"][name]) for name in names]
        writer.writerow([example["id"], *values, str(example["label"]).lower()])
    return text.getvalue().encode()


@pytest.mark.parametrize(("form", "write"), [("ndjson", ndjson), ("csv", as_csv)])
def test_replay_of_a_file_equals_the_bare_model(replay, tmp_path, form, write):
    events = phishing_events()
    path = tmp_path / f"pages.{form}"
    path.write_bytes(write(events))
    summary = replay(path)
    model, predictions = run_bare(events)
    assert summary["mistakes"] == sum(prediction["mistake"] for prediction in predictions)
    assert summary["mistakes"] == model.n_mistakes
    assert summary["updates"] == model.n_updates
    assert summary["bias"] == model.bias
    assert summary["weights_nonzero"] == len(model.weights)


def test_replay_prints_progress_rows_at_powers_of_two_to_stderr(perceptron):
    result = perceptron("replay", "-", stdin=ndjson(phishing_events()))
    found = rows(result.stderr)
    assert [int(row[0]) for row in found] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1250]
    mistakes = [prediction["mistake"] for prediction in run_bare(phishing_events()).predictions]
    assert [int(row[1]) for row in found] == [sum(mistakes[: int(row[0])]) for row in found]
    parts = [mistakes[int(before[0]) : int(row[0])] for before, row in pairwise([["0"], *found])]
    assert [row[2] for row in found] == [f"{sum(part) / len(part):.4f}" for part in parts]
    assert [row[3] for row in found] == [f"{int(row[1]) / int(row[0]):.4f}" for row in found]
    assert not re.search(r"[\x00-\x09\x0b-\x1f]", result.stderr)


def test_text_summary_calls_the_classes_by_their_names(perceptron):
    lines = b'{"id":"a","text":"win","label":"spam"}\n{"id":"b","text":"hi","label":"ham"}\n'
    result = perceptron("replay", "-", "--classes", "ham,spam", stdin=lines)
    assert re.search(r"predicted +ham +spam\nham +\d+ +\d+\nspam +\d+ +\d+\n", result.stdout)
    assert "positive ones favour spam" in result.stdout


def test_rejected_lines_are_counted_and_not_learned(perceptron, tmp_path):
    good = phishing_events()
    lines = [*good[:3], b"junk", *good[3:], b'{"id":"a","features":{"f":1e999},"label":true}']
    (tmp_path / "pages.ndjson").write_bytes(ndjson(lines))
    result = perceptron("replay", "pages.ndjson", "--format", "json")
    summary = json.loads(result.stdout)
    assert summary["rejected"] == 2
    assert summary["rejected_by_reason"] == {"invalid_json": 1, "not_finite": 1}
    assert summary["mistakes"] == run_bare(good).model.n_mistakes
    assert "pages.ndjson:4: invalid_json: " in result.stderr
    assert "pages.ndjson:1252: not_finite: features.f" in result.stderr


NUMBERS = b"".join(b'{"id":"%d","features":{"a":%d.5},"label":%d}\n' % (n, n % 7, n % 2) for n in range(40))


@pytest.mark.parametrize(
    ("events", "model", "warns"),
    [
        (NUMBERS, "character-naive-bayes", True),
        (NUMBERS, "auto", False),
        (b'{"id":"a","text":"win","label":true}\n', "character-naive-bayes", False),
    ],
)
def test_file_without_texts_gives_a_warning_for_text_models(perceptron, events, model, warns):
    stderr = perceptron("replay", "-", "--model", model, stdin=events).stderr
    assert ("no event has a text, and the model ignores everything else" in stderr) is warns


def test_file_without_labels_gives_no_error_rate(perceptron):
    result = perceptron("replay", "-", stdin=ndjson([b'{"id":"a","text":"win"}']))
    assert "error rate                unknown: no event has a label" in result.stdout
    assert "no event has a label" in result.stderr


EVENT, LABELLED = b'{"id":"a","text":"win"}', b'{"id":"a","text":"win","label":true}'


def test_repeated_event_with_its_first_label_is_not_counted(perceptron):
    result = perceptron("replay", "-", "--format", "json", stdin=ndjson([EVENT, LABELLED]))
    summary = json.loads(result.stdout)
    assert (summary["labelled"], "warning" in result.stderr) == (1, False)


@pytest.mark.parametrize("last", [LABELLED, LABELLED.replace(b"true", b"false")])
@pytest.mark.parametrize("first", [LABELLED, b'{"id":"a","label":true}'])
def test_repeated_event_without_a_first_label_is_a_repeated_id(perceptron, first, last):
    result = perceptron("replay", "-", "--format", "json", stdin=ndjson([EVENT, first, last]))
    assert "1 labels repeat their event's label" in result.stderr


def test_label_that_corrects_the_timeouts_is_not_a_repeated_id(perceptron):
    rows = [{"id": name, "text": "win", "at": at} for name, at in (("a", 0), ("b", 100), ("a", 101))]
    rows[-1]["label"] = True
    given = [
        "--events-timestamp",
        "at",
        "--events-label-on-timeout",
        "false",
        "--label-timeout-seconds",
        "10",
    ]
    lines = ndjson([json.dumps(row).encode() for row in rows])
    result = perceptron(
        "replay", "-", "--format", "json", "--label-correction-seconds", "1000", *given, stdin=lines
    )
    assert json.loads(result.stdout)["corrected"] == 1
    assert "repeat" not in result.stderr


@pytest.mark.parametrize("command", ["replay", "check-input", "compare", "train"])
def test_mapped_name_without_any_value_is_reported_at_the_end(command):
    rows = b"".join(b'{"id":"%d","amount":%d,"label":true}\n' % (n, n) for n in range(5))
    mapping = ["--events-features", "amount,amont", "--events-derive", "part=amount/totl"]
    ran = subprocess.run(
        [sys.executable, "-m", "service", command, "-", *mapping],
        input=rows,
        env=environment({}),
        capture_output=True,
        check=True,
    )
    told = [line for line in ran.stderr.decode().splitlines() if "spelling" in line]
    assert told == [
        "warning: events.features: amont: not found in the first 5 records: check the spelling",
        "warning: events.derive: part: not found in the first 5 records: check the spelling",
    ]
