"""Names with control characters act on no terminal: each command shows them escaped, and on one line."""

import ast
import json
from contextlib import closing
from pathlib import Path

import pytest

import service.cli
from service.redaction import escaped, one_line
from service.stream.opening import open_transport
from service.stream.protocol import Output

FORMS, LEARNING = ("text", "json"), ("replay", "compare", "train")
HOSTILE = "\x1b]0;owned\x07\x9b31m\u202eab\r\nerror: forged\x7f"


def assert_harmless(result):
    output = result.stdout + result.stderr
    assert "owned" in output, output
    assert output.replace("\n", "").isprintable(), ascii(output)
    assert not any(line.startswith("error: forged") for line in output.splitlines())


@pytest.fixture
def events(tmp_path):
    """Write a file whose ids, names, categories and classes are hostile."""
    rows = [
        {
            "id": f"{HOSTILE}{n}",
            "features": {f"{HOSTILE}f": n % 3, "c": HOSTILE},
            "label": [HOSTILE, "ham"][n % 2],
        }
        for n in range(20)
    ]
    rows.insert(3, {"id": "a", "features": {HOSTILE: []}})
    (tmp_path / "events.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "events.ndjson", "--classes", f"ham,{HOSTILE}"


@pytest.fixture
def model(perceptron, events):
    assert perceptron("replay", *events, "--save", "model.bin").exit_code == 0
    return "model.bin"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        *(((name, "EVENTS", "--format", form), 0) for name in LEARNING for form in FORMS),
        (("test", "model.bin", "EVENTS"), 0),
        *((("inspect", "model.bin", "--format", form), 0) for form in FORMS),
        (("produce", "EVENTS", "--broker", "memory://"), 1),
        *((("config", "show", "--classes", HOSTILE + ",ham", "--format", form), 0) for form in FORMS),
    ],
)
def test_output_of_hostile_names_has_no_control_characters(perceptron, events, model, command, code):
    file, *classes = events
    words = [each for word in command for each in ([file, *classes] if word == "EVENTS" else [word])]
    result = perceptron(*words)
    assert result.exit_code == code
    assert_harmless(result)


@pytest.mark.parametrize(
    "command",
    [
        ["dead-letters", "list"],
        ["dead-letters", "list", "--format", "json"],
        ["consume", "dead-letters", "--exit-at-end"],
    ],
    ids=["list", "json", "consume"],
)
def test_dead_letters_show_no_control_characters(perceptron, broker, command):
    hostile = HOSTILE.encode()
    headers = tuple((f"{HOSTILE}{name}", hostile) for name in "ab")
    headers += tuple((name, hostile) for name in ("error.reason", "error.message", "source.topic"))
    headers += (("source.partition", b"0"), ("source.offset", b"0"))
    values = (hostile, json.dumps(HOSTILE, ensure_ascii=False).encode())
    with closing(open_transport(broker)) as transport:
        transport.ensure_topics({"dead-letters": 1, "events": 1})
        transport.produce([Output("dead-letters", hostile, value, headers) for value in values])
    result = perceptron(*command, "--broker", broker)
    assert result.exit_code == 0, result.stderr
    assert_harmless(result)


WRONG = {
    "file": ["replay", f"{HOSTILE}.csv"],
    "model": ["inspect", HOSTILE],
    "broker": ["serve", "--broker", HOSTILE],
    "topic": ["consume", HOSTILE, "--broker", "memory://"],
    "stream": ["dead-letters", "replay", "--broker", f"sqlite:///{HOSTILE}"],
    "settings": ["serve", "--config", HOSTILE],
    "option": ["config", "show", f"--{HOSTILE}"],
    "choice": ["schema", HOSTILE],
    "command": [HOSTILE],
}


@pytest.mark.parametrize("arguments", WRONG.values(), ids=WRONG)
def test_errors_show_no_control_characters(perceptron, arguments):
    result = perceptron(*arguments)
    assert result.exit_code != 0
    assert_harmless(result)


def test_json_output_round_trips_hostile_names():
    text = json.dumps({HOSTILE: "\U000e0001é"}, ensure_ascii=False, indent=2)
    assert json.loads(escaped(text)) == json.loads(text)
    assert escaped(text).replace("\n", "").isprintable()
    assert one_line(HOSTILE).isprintable()


MODULES = sorted(Path(service.cli.__file__).parent.rglob("*.py"))


def test_commands_print_through_one_module_only():
    for path in MODULES:
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        allowed = {"output": {"click.echo"}, "app": {"click.echo"}}.get(path.stem, set())
        assert {"click.echo", "click.secho", "print"}.intersection(map(ast.unparse, calls)) <= allowed, path
