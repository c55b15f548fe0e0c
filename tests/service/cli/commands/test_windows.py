"""Windows by key over files: `replay` makes the model that `serve` makes; without times it is refused."""

import json

import pytest

WINDOWS = json.dumps(
    [{"by": "card", "over": ["10m", "1h"], "of": {"amount": "sum,mean", "@event": "count", "@label": "rate"}}]
)
EVENTS = ("--events-timestamp", "at", "--events-features", "amount", "--events-windows", WINDOWS)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "events.ndjson"
    with path.open("w") as written:
        for n in range(400):
            event = {"id": f"e{n}", "card": f"c{n * n % 7}", "amount": n % 13 / 4, "label": n * n % 5 < 2}
            print(json.dumps({**event, "at": 1_700_000_000 + 97 * n - n % 3 * 400}), file=written)
    return path


def test_replay_and_serve_come_to_the_same_model_which_is_proved(perceptron, broker, file, tmp_path):
    def run(*arguments):
        result = perceptron(*arguments)
        assert result.exit_code == 0, result.stderr
        return result.stdout

    stream = ("--broker", broker)
    run("replay", file, *EVENTS, "--save", "replayed.model")
    run("produce", file, *stream, "--events-timestamp", "at", "--events-features", "amount")
    run("serve", "--exit-at-end", "--http", "", *stream, *EVENTS)
    run("checkpoint", "export", "served.model", "--partition", 0, *stream, *EVENTS)
    assert "proved" in run("verify", *stream, *EVENTS)
    shown = [
        json.loads(run("inspect", tmp_path / f"{each}.model", "--format", "json"))
        for each in ("replayed", "served")
    ]
    assert shown[0]["weights"] == shown[1]["weights"]
    assert "label_rate_1h_by_card" in json.dumps(shown[0])


def test_a_file_without_times_and_examples_without_a_stream_are_refused(perceptron, file):
    for command in ("replay", "compare"):
        refused = perceptron(command, file, *EVENTS[2:])
        assert refused.exit_code == 2
        assert "a file has no event times" in refused.stderr
    refused = perceptron("train", file, "--save", "m", *EVENTS)
    assert refused.exit_code == 2
    assert "replay` and `compare` process a file as a stream" in " ".join(refused.stderr.split())
