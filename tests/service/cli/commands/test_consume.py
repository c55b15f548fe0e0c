"""`consume` prints committed records, one JSON object a line, each value as it is."""

import json
import subprocess
import sys

import pytest

from service.cli.commands.records import record_line
from service.stream.protocol import Output, Record
from tests.support.speed import patience


@pytest.fixture
def transport(opened):
    return opened({"t": 2})


AS_IT_IS = [b'{"n":1.10000000000000000001,"m":1e999}', b"[]", b"3", b"true", b"null", b'"s"']
AS_TEXT = [b"not json", b"", b'{"a":NaN}', b"[" * 100_000, b'"a\nb"', "\ufeff{}".encode()]


def quoted(value):
    return json.dumps(value.decode(), ensure_ascii=False)


RECORDS = [
    *((b"k", value, (), f'"key":"k","value":{value.decode()},"headers":{{}}') for value in AS_IT_IS),
    *((b"k", value, (), f'"key":"k","value":{quoted(value)},"headers":{{}}') for value in AS_TEXT),
    (b"k", b'{\r\n"a":\n1}', (), '"key":"k","value":{  "a": 1},"headers":{}'),
    (None, None, (), '"key":null,"value":null,"headers":{}'),
    ("é".encode(), b"{}", (("reason", b"empty"),), '"key":"é","value":{},"headers":{"reason":"empty"}'),
    (b"\xff", b"\xfe", (), '"key_base64":"/w==","value_base64":"/g==","headers":{}'),
    (b"k", b"1", (("h", b"\xfd"),), '"key":"k","value":1,"headers":{"h":{"base64":"/Q=="}}'),
]


@pytest.mark.parametrize(("key", "value", "headers", "shown"), RECORDS, ids=range(len(RECORDS)))
def test_consume_prints_a_record_as_one_object(key, value, headers, shown):
    text = record_line(Record("t", 0, 7, 0, key, value, headers))
    assert text == f'{{"partition":0,"offset":7,{shown}}}'
    assert json.loads(text)


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ([], [1, 2, 3, 4]),
        (["--from", "1"], [2, 4]),
        (["--from", "end"], []),
        (["--from", "5"], []),
        (["-n", "3"], [1, 2, 3]),
    ],
)
def test_records_are_printed_by_partition_from_the_given_offset(
    perceptron, broker, transport, options, values
):
    transport.produce([Output("t", None, b"%d" % n, partition=(n - 1) // 2) for n in (1, 2, 3, 4)])
    result = perceptron("consume", "t", "--exit-at-end", "--broker", broker, *options)
    assert result.exit_code == 0, result.stderr
    assert [json.loads(line)["value"] for line in result.stdout.splitlines()] == values


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("nothing", "--exit-at-end"), 1, "nothing"),
        (("t", "--from", "middle"), 2, "expected start, end or an offset, got 'middle'"),
    ],
)
def test_missing_topic_or_position_is_an_error(perceptron, broker, transport, arguments, code, said):
    result = perceptron("consume", *arguments, "--broker", broker)
    assert (result.exit_code, result.stdout, said in result.stderr) == (code, "", True)


def test_consume_follows_the_topic_until_interrupted(broker, transport):
    command = [sys.executable, "-m", "service", "consume", "t", "--broker", broker]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for number in (1, 2):
            transport.produce([Output("t", b"k", b"%d" % number)])
            assert json.loads(process.stdout.readline())["value"] == number
        process.send_signal(2)
        _, said = process.communicate(timeout=patience(30))
    assert process.returncode == 130
    assert "Traceback" not in said
