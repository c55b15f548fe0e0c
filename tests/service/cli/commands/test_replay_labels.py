"""`replay --labels` does with two files what `serve` does with two topics."""

import csv
import gzip
import io
import json
import random
import re
from contextlib import closing

import pytest

from service.stream.opening import open_transport

TIMEOUT = ("--label-timeout-seconds", 50_000)
MAPPED = (
    *("--classes", "fine,fraud", "--events-timestamp", "at", "--events-features", "*"),
    *("--labels-id", "payment", "--labels-label", "verdict", "--labels-timestamp", "at"),
)


def as_csv(*rows):
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue()


@pytest.fixture
def payments(tmp_path):
    """Write payments, and labels that come before them, soon, late and never, by another clock."""
    chance, time = random.Random(5), 1_700_000_000
    events, labels = [("id", "at", "amount", "country")], []
    for number in range(300):
        time += chance.randrange(60)
        amount = round(chance.gauss(0, 1), 3)
        events.append((f"e{number}", time, amount, chance.choice(["de", "fr"])))
        if number % 10:
            at = time + chance.choice([-30, 5, 3600, 86_400])
            labels.append((f"e{number}", at * 1000, amount + chance.gauss(0, 0.5) > 0.7))
    labels.append(("no one", labels[9][1], True))
    labels.sort(key=lambda row: row[1])
    (tmp_path / "events.csv").write_text(as_csv(*events))
    (tmp_path / "labels.csv").write_text(as_csv(("id", "at", "label"), *labels))
    named = [(event, at, "fraud" if is_fraud else "fine", "me") for event, at, is_fraud in labels]
    (tmp_path / "verdicts.csv").write_text(as_csv(("payment", "at", "verdict", "by"), *named))
    return tmp_path


@pytest.mark.parametrize(
    ("labels", "options"), [("labels.csv", ()), ("verdicts.csv", MAPPED)], ids=["plain", "mapped"]
)
@pytest.mark.parametrize("model", ["perceptron", "auto"])
def test_replay_gives_the_services_model_to_the_byte(perceptron, payments, broker, labels, options, model):
    times = ("--timestamp", "at")
    files = ("events.csv", "--labels", labels, *times, "--model", model)
    result = perceptron("replay", *files, *options, *TIMEOUT, "--save", "a.model", "--format", "json")
    assert result.exit_code == 0, result.stderr
    summary = json.loads(result.stdout)
    stream = ("--broker", broker)
    for topic, name in (("labels", labels), ("events", "events.csv")):
        sent = perceptron("produce", name, "--topic", topic, *times, *options, *stream, "--partitions", 1)
        assert sent.exit_code == 0, sent.stderr
    served = ("--exit-at-end", "--http", "", "--model", model, "--max-batch-records", 7)
    assert perceptron("serve", *served, *options, *TIMEOUT, *stream).exit_code == 0
    status = json.loads(perceptron("status", *stream, "--format", "json").stdout)
    assert (status["partitions"][0]["mistakes"], summary["mistakes"] > 0) == (summary["mistakes"], True)
    exported = ("export", "b.model", "--partition", 0)
    assert perceptron("checkpoint", *exported, *stream).exit_code == 0
    assert (payments / "a.model").read_bytes() == (payments / "b.model").read_bytes()
    assert summary["labels"].keys() == {"matched", "late", "orphan"}


def test_only_unmatched_labels_are_an_error_naming_some_ids(perceptron, payments):
    text = (payments / "labels.csv").read_text()
    (payments / "labels.csv").write_text(re.sub("^e", "x", text, flags=re.MULTILINE))
    result = perceptron("replay", "events.csv", "--labels", "labels.csv", "--timestamp", "at")
    assert result.exit_code == 1
    assert "error: labels.csv: 271 of 271 labels match no event" in result.stderr
    assert "such as x" in result.stderr


def test_some_unmatched_labels_are_counted_and_named(perceptron, payments):
    lines = (payments / "labels.csv").read_text().splitlines(keepends=True)
    text = "".join(re.sub("^e", "x", line) if n % 9 == 1 else line for n, line in enumerate(lines))
    (payments / "labels.csv").write_text(text)
    given = ("--timestamp", "at", "--label-timeout-seconds", 3600)
    result = perceptron("replay", "events.csv", "--labels", "labels.csv", *given)
    assert result.exit_code == 0, result.stderr
    assert re.search(r"\d+ of \d+ labels match no event.*'[ex]\d+'", result.stderr)


def test_files_without_common_times_are_rejected(perceptron, payments):
    result = perceptron("replay", "events.csv", "--labels", "labels.csv")
    assert (result.exit_code, "name its column with --timestamp" in result.stderr) == (2, True)


def test_unordered_rows_are_counted(perceptron, payments):
    head, *rows = (payments / "events.csv").read_text().splitlines(keepends=True)
    (payments / "events.csv").write_text("".join([head, *reversed(rows)]))
    result = perceptron("replay", "events.csv", "--labels", "labels.csv", "--timestamp", "at")
    n_early = sum(row.split(",")[1] < rows[-1].split(",")[1] for row in rows)
    assert f"warning: events.csv: {n_early} rows are out of time order" in result.stderr


@pytest.mark.parametrize(
    "options", [("--labels", "labels.csv", "--timestamp", "at"), MAPPED, ("--timestamp", "at")]
)
def test_time_ahead_of_the_clock_is_rejected_as_by_serve(perceptron, payments, options):
    (payments / "later.csv").write_text("id,at,x\na,9999999999,1\nb,1700000000,2\n")
    assert "later.csv:2: event_time_out_of_range" in perceptron("replay", "later.csv", *options).stderr


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--events-id", "@key"), "events.id is @key"),
        (("--labels-id", "@key"), "labels.id is @key"),
        (("--config", "one-topic.toml"), "labels have no separate topic"),
        (("--labels", "text.tsv"), "rows of a tsv file have no columns"),
        (("--labels", "none.csv"), "none.csv: empty"),
    ],
)
def test_labels_that_cannot_be_joined_are_rejected(perceptron, payments, options, complaint):
    (payments / "one-topic.toml").write_text('labels_topic = ""\n')
    (payments / "text.tsv").write_text("true\tx\n")
    (payments / "none.csv").write_text("id,at,label\n")
    result = perceptron("replay", "events.csv", "--labels", "labels.csv", "--timestamp", "at", *options)
    assert (result.exit_code > 0, complaint in result.stderr) == (True, True), result.stderr


def test_labels_may_be_gzipped_or_come_from_a_pipe(perceptron, payments):
    (payments / "labels.csv.gz").write_bytes(gzip.compress((payments / "labels.csv").read_bytes()))
    files = ("replay", "--timestamp", "at", "--format", "json", "--labels")
    known = json.loads(perceptron(*files, "labels.csv.gz", "events.csv").stdout)["mistakes"]
    rows = csv.DictReader((payments / "labels.csv").read_text().splitlines())
    lines = [{"id": row["id"], "at": int(row["at"]), "label": row["label"] == "True"} for row in rows]
    piped = "".join(json.dumps(line) + "\n" for line in lines)
    ignoring = ("--labels-unknown-fields", "ignore")
    assert (
        json.loads(perceptron(*files, "-", "events.csv", *ignoring, stdin=piped).stdout)["mistakes"] == known
    )


def test_check_input_shows_labels_as_labels(perceptron, payments):
    result = perceptron("check-input", "events.csv", "--labels", "verdicts.csv", *MAPPED, "-n", 1)
    assert result.exit_code == 0, result.stderr
    assert "events.csv:2: event" in result.stdout
    assert "verdicts.csv:2: label" in result.stdout
    alone = perceptron("check-input", "--labels", "verdicts.csv", *MAPPED, "-n", 1)
    assert alone.stdout.startswith("verdicts.csv:2: label")


def test_produce_gives_records_the_times_of_rows(perceptron, payments, broker):
    lines = b'{"id":"a","text":"x","at":1700000000}\n{"id":"b","text":"x"}\n'
    given = ("--timestamp", "at", "--broker", broker)
    result = perceptron("produce", "-", *given, "--events-unknown-fields", "ignore", stdin=lines)
    assert "stdin:2: at: missing" in result.stderr
    assert result.stderr.endswith("to continue from there: --skip 1\n")
    with closing(open_transport(broker)) as stream:
        records = [each for n in range(stream.partition_count("events")) for each in stream.read("events", n)]
    assert [record.timestamp_ms for record in records] == [1_700_000_000_000]
    assert perceptron("produce", "events.csv", *given, "--loop").exit_code == 2
