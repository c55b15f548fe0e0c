"""`init` proposes settings, writes them where no file is, and shows what they make of the records."""

import gzip
import json
import tomllib
from pathlib import Path

import pytest

from service.lab.proposal import propose
from service.stream.opening import open_transport
from service.stream.protocol import Output
from tests.service.formats.avro_values import record, written
from tests.service.lab import streams
from tests.support.schema_registry import SchemaRegistryServer

NAMES = [*streams.NDJSON, *streams.CSV]


@pytest.mark.parametrize("name", NAMES)
def test_proposed_configuration_learns_from_its_records(perceptron, tmp_path, name):
    path = streams.write(tmp_path, name)
    result = perceptron("init", path)
    assert result.exit_code == 0
    assert f"checked: {streams.COUNT} of {streams.COUNT} records can be read" in result.stderr
    summary = json.loads(perceptron("replay", path, "--config", "perceptron.toml", "--format", "json").stdout)
    unlabelled = sum(row.get("after", {}).get("status") == "pending" for row in streams.documents(name))
    assert (summary["events"], summary["labelled"]) == (streams.COUNT, streams.COUNT - unlabelled)
    assert summary["updates"] > 0


def settings_in(name):
    return tomllib.loads(Path(name).read_text())


def put(broker, topic, rows, key=lambda n: None):
    transport = open_transport(broker)
    transport.ensure_topics({topic: 1})
    transport.produce(
        [
            Output(topic, key(n), row if isinstance(row, bytes) else json.dumps(row).encode())
            for n, row in enumerate(rows)
        ]
    )
    transport.close()


def test_topic_is_described_and_then_served(perceptron, broker):
    put(broker, "payments", streams.documents("payment"))
    result = perceptron("init", "--topic", "payments", "--broker", broker, "--output", "p.toml")
    assert f"{streams.COUNT} of {streams.COUNT} records can be read" in result.stderr
    assert settings_in("p.toml")["events_topic"] == "payments"
    served = ("--config", "p.toml", "--broker", broker, "--exit-at-end", "--http", "")
    assert perceptron("serve", *served).exit_code == 0
    status = perceptron("status", "--config", "p.toml", "--broker", broker, "--format", "json")
    assert json.loads(status.stdout)["partitions"][0]["predictions"] == streams.COUNT


def test_records_with_schemas_are_described(perceptron, broker, monkeypatch):
    schema = record(no="long", body="string", label=["null", "boolean"])
    rows = [{"no": n, "body": f"win a prize {n}", "label": n % 2 == 0} for n in range(30)]
    with SchemaRegistryServer() as server:
        head = b"\x00" + server.register("mails-value", schema).to_bytes(4, "big")
        put(broker, "mails", [head + written(schema, row) for row in rows])
        given = ("--events-format", "avro", "--schema-registry-url", server.url)
        result = perceptron("init", "--topic", "mails", "--broker", broker, *given)
        assert "30 of 30 records can be read" in result.stderr
    events = settings_in("perceptron.toml")["events"]
    assert events == {"format": "avro", "id": "no", "text": ["body"], "label": "label"}


def test_table_shows_each_fields_role_and_reason(perceptron, tmp_path):
    result = perceptron("init", streams.write(tmp_path, "payment"))
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    why = "an outcome, known only after the label"
    assert lines[:2] == ["field role why", "chargeback label false 93, true 27"]
    assert {"created timestamp seconds since 1970", f"refunded left out {why}"} <= {*lines}
    assert "warning: refunded is left out" in result.stderr


@pytest.mark.parametrize("given", [(), ("--output", "perceptron.toml")])
def test_existing_file_is_not_overwritten(perceptron, tmp_path, given):
    path = streams.write(tmp_path, "iris")
    Path("perceptron.toml").write_text("mine")
    result = perceptron("init", path, *given)
    assert (result.exit_code, "is not overwritten" in result.stderr) == (1, True)
    assert Path("perceptron.toml").read_text() == "mine"


def test_file_created_meanwhile_is_not_overwritten(perceptron, tmp_path, monkeypatch):
    def propose_late(*given, **further):
        Path("perceptron.toml").write_text("mine")
        return propose(*given, **further)

    monkeypatch.setattr("service.cli.commands.check_input.propose", propose_late)
    assert perceptron("init", streams.write(tmp_path, "iris")).exit_code == 1
    assert Path("perceptron.toml").read_text() == "mine"


def test_user_may_choose_label_and_id(perceptron, tmp_path):
    path = streams.write(tmp_path, "payment")
    perceptron("init", path, "--events-label", "livemode", "--events-id", "card.fingerprint")
    events = settings_in("perceptron.toml")["events"]
    assert (events["label"], events["id"]) == ("livemode", "card.fingerprint")
    assert perceptron("init", path, "--output", "x", "--events-label", "live").exit_code == 1


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("empty.ndjson", b"", "empty"),
        ("empty.csv", b"", "no header row"),
        ("binary.ndjson", bytes(range(256)) * 40, "none of 41 records is a JSON object"),
        ("picture.csv", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(2000), "the header row is not UTF-8"),
        ("zipped.ndjson", gzip.compress(b'{"id": 1}', mtime=0), "expected ndjson, got gzip"),
        ("numbers.ndjson", b"1\n2\n", "none of 2 records is a JSON object"),
        ("one.csv", b"id,x,label\n" + b"1,1,no\n2,2,no\n", "the label, is no wherever it is known"),
        ("text.tsv", b"ham\thi\n", "its rows are native events"),
        ("none.csv", b"id,label\n1,yes\n2,no\n", "no field to learn from"),
    ],
)
def test_unreadable_file_is_an_error_with_a_hint(perceptron, name, content, what):
    Path(name).write_bytes(content)
    result = perceptron("init", name)
    assert (result.exit_code, what in result.stderr) == (1, True)
    assert "hint:" in result.stderr or not content
    assert not Path("perceptron.toml").exists()


def test_file_and_topic_are_mutually_exclusive(perceptron):
    assert perceptron("init").exit_code == 2
    assert perceptron("init", "x.ndjson", "--topic", "t").exit_code == 2
    assert perceptron("init", "-").exit_code == 2


OBJECTS = [{"id": n, "x": n % 7, "label": n % 2} for n in range(9)]


@pytest.mark.parametrize("command", ["init", "replay", "check-input", "produce"])
@pytest.mark.parametrize(
    ("content", "way"),
    [
        (json.dumps(OBJECTS), "jq -c '.[]'"),
        (json.dumps(OBJECTS, indent=2), "jq -c '.[]'"),
        ("\n".join(json.dumps(each, indent=2) for each in OBJECTS), "jq -c '.'"),
        (f"[{' ' * (17 << 20)}]", "jq -c '.[]'"),
    ],
    ids=["array", "pretty array", "pretty", "long array"],
)
def test_multi_line_json_is_rejected_with_hint(perceptron, broker, command, content, way):
    Path("x.json").write_text(content)
    result = perceptron(command, "x.json", *["--broker", broker] * (command == "produce"))
    assert result.exit_code == 1
    assert "x.json:1: " in result.output
    assert f"expected one object per line: convert it with `{way} FILE > FILE.ndjson`" in result.output


def test_labels_of_a_separate_file_are_learned(perceptron, tmp_path):
    orders = "".join(f"o-{n},{n % 7},{1_763_000_000 + n}\n" for n in range(200))
    (tmp_path / "orders.csv").write_text(f"order_id,items,created\n{orders}")
    told = "".join(f"o-{n},{'bad' if n % 7 > 4 else 'good'},{1_763_000_500 + n}\n" for n in range(200))
    (tmp_path / "told.csv").write_text(f"order,verdict,created\n{told}")
    result = perceptron("init", "orders.csv", "--labels", "told.csv")
    assert result.exit_code == 0, result.stderr
    assert settings_in("perceptron.toml")["labels"] == {
        "id": "order",
        "label": "verdict",
        "timestamp": "created",
    }
    files = ("orders.csv", "--labels", "told.csv", "--config", "perceptron.toml", "--format", "json")
    assert json.loads(perceptron("replay", *files).stdout)["labelled"] == 200
