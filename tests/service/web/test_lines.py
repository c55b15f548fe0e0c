"""Bodies of lines: each line is predicted, or appended, like a single request."""

import gzip
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.errors import TransactionFailed
from service.stream.partitioner import partition_for_key
from service.web.requests import JSON, MAX_LINES, NDJSON
from service.web.responses import LinesAppended, Problem
from tests.service.building import event, label
from tests.service.web.stage import Stage
from tests.service.web.test_requests import BODIES
from tests.support.example_counts import n_examples

LINES = st.lists(BODIES.filter(lambda body: len(body) < 1000 and not {10, 13} & {*body}), max_size=8)
EVENTS = [event(f"e{number}", "win") for number in range(10)]
ALL = ["/events", "/labels"]


def body_of(*messages):
    return b"".join(
        (each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in messages
    )


def post(client, path, body, **params):
    return client.post(path, content=body, params=params, headers={"content-type": NDJSON})


def singly(client, path, lines, **params):
    """Send each line in a request of its own; return status and fields of each response."""
    responses = [
        client.post(path, content=line, params=params, headers={"content-type": JSON}) for line in lines
    ]
    return [(response.status_code, response.json()) for response in responses]


def problems_of(responses):
    """Return the problems that a body of the same lines must have."""
    return [
        {"line": number, "status": status, **fields}
        for number, (status, fields) in enumerate(responses, 1)
        if status >= 300
    ]


def outcome(client, path, lines, **params):
    """Send lines in one body; return how many were repeated, and the problems."""
    response = post(client, path, body_of(*lines), **params)
    fields = response.json()
    counts = (
        fields
        if response.status_code == 200
        else Problem.model_validate(fields).lines.model_dump(exclude_none=True)
    )
    LinesAppended.model_validate(counts)
    assert counts["lines"] == len(lines)
    assert counts["acknowledged"] == len(lines) - len(counts["problems"])
    assert response.status_code == max([200, *(each["status"] for each in counts["problems"])])
    return counts["repeated"], counts["problems"]


def records(stage):
    """Return what was appended, by topic."""
    by_topic = {"events": [], "labels": []}
    for output in stage.appended:
        by_topic[output.topic].append((output.partition, output.key, output.value))
    return {topic: sorted(found) for topic, found in by_topic.items()}


@settings(max_examples=n_examples(30))
@given(st.lists(st.tuples(st.sampled_from(["/events", "/labels"]), LINES), max_size=3), st.booleans())
def test_lines_get_the_responses_of_single_requests(bodies, holds_back):
    stages = [Stage(partitions=(0, 1), http_max_lag=2 if holds_back else 100) for _ in range(2)]
    for stage in stages:
        stage.holds_back = holds_back
    with stages[0].served() as one, stages[1].served() as other:
        for path, lines in bodies:
            params = {"wait_seconds": 0} if path == "/events" else {}
            responses = singly(one, path, lines, **params)
            repeated = sum(fields.get("repeated", False) for status, fields in responses if status < 300)
            assert outcome(other, path, lines) == (repeated, problems_of(responses))
    assert records(stages[0]) == records(stages[1])
    for partition in (0, 1):
        mine, its = ([each for each in stage.appended if each.partition == partition] for stage in stages)
        assert mine == its


@pytest.fixture
def stage():
    return Stage()


def test_response_has_the_highest_status_of_a_line(client):
    lines = [EVENTS[0], b"{", EVENTS[0] | {"text": "lose"}, EVENTS[1]]
    response = post(client, "/events", body_of(*lines))
    assert (response.status_code, response.json()["reason"]) == (422, "invalid_json")
    assert response.json()["what"].startswith("line 2: ")
    counts = response.json()["lines"]
    assert (counts["lines"], counts["acknowledged"]) == (4, 2)
    assert [(each["line"], each["status"]) for each in counts["problems"]] == [(2, 422), (3, 409)]


class FailingLater:
    """A stream of which transactions fail after the first ones."""

    def __init__(self, stage, monkeypatch, at_once, n_good):
        monkeypatch.setattr("service.intake.partition._MAX_AT_ONCE", at_once)
        self._append = stage.live.intakes.get(0)._writer.commit
        self._n_good = n_good
        monkeypatch.setattr(stage.live.intakes.get(0)._writer, "commit", self.commit)

    def commit(self, outputs, offsets):
        self._n_good -= 1
        if self._n_good < 0:
            raise TransactionFailed("the stream said no")
        self._append(outputs, offsets)


def test_stream_failure_within_a_body_reports_appended_lines(stage, client, monkeypatch):
    """And of the lines after those that failed, none is appended: sent again, all are in order."""
    FailingLater(stage, monkeypatch, at_once=3, n_good=2)
    response = post(client, "/events", body_of(*EVENTS))
    assert (response.status_code, response.headers["retry-after"]) == (503, "1")
    counts = response.json()["lines"]
    assert (counts["acknowledged"], len(counts["problems"])) == (
        len(stage.appended),
        10 - len(stage.appended),
    )
    assert {each["status"] for each in counts["problems"]} == {503}
    assert "may be" in counts["problems"][0]["what"] or "did not confirm" in counts["problems"][0]["what"]
    stage.open_intake(0)
    assert outcome(client, "/events", EVENTS) == (counts["acknowledged"], [])
    assert [json.loads(output.value) for output in stage.appended] == EVENTS


def test_lines_after_the_largest_lag_are_retryable():
    stage = Stage(http_max_lag=4)
    stage.holds_back = True
    with stage.served() as client:
        response = post(client, "/events", body_of(*EVENTS))
        assert (response.status_code, response.headers["retry-after"]) == (429, "1")
        assert response.json()["lines"]["acknowledged"] == 4
        assert [each["line"] for each in response.json()["lines"]["problems"]] == [5, 6, 7, 8, 9, 10]
    assert [json.loads(output.value) for output in stage.appended] == EVENTS[:4]


def test_hanging_append_gives_retryable_lines(stage, client, monkeypatch):
    monkeypatch.setattr("service.web.inputs._PATIENCE_SECONDS", 0.01)
    stage.live.open(0, stage.feeds[0].processor)  # no one makes its writer
    _, problems = outcome(client, "/labels", [label("a", value=True), b"{"])
    assert (problems[0]["status"], problems[0]["what"][:9]) == (503, "it was no")
    assert problems[1]["status"] == 422


def test_lines_of_a_partition_owned_elsewhere_name_it():
    with Stage(partitions=(1,)).served() as client:
        _, problems = outcome(client, "/events", EVENTS)
    elsewhere = [n for n, each in enumerate(EVENTS, 1) if partition_for_key(each["id"].encode(), 2) == 0]
    assert [(each["line"], each["status"], each["partition"]) for each in problems] == [
        (number, 421, 0) for number in elsewhere
    ]


def test_given_key_applies_to_all_lines(client, stage):
    assert outcome(client, "/events", EVENTS, key="k") == (0, [])
    assert {output.key for output in stage.appended} == {b"k"}


def test_lines_cannot_wait_for_predictions(client):
    response = post(client, "/events", body_of(*EVENTS), wait_seconds=1)
    assert (response.status_code, response.json()["where"]) == (422, "query wait_seconds")


def test_request_can_wait_for_the_prediction_of_a_line(stage, client):
    stage.holds_back = True
    post(client, "/events", body_of(EVENTS[0]))
    intake = stage.live.intakes.get(0)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(client.post, "/events", json=EVENTS[0])
        while not any(ticket.result for ticket in [*intake._latest.values()]):
            pass
        (output,) = stage.appended
        stage(output.value, topic=output.topic, key=output.key)
        response = waiting.result()
    fields = response.json()
    assert (response.status_code, fields["repeated"], "score" in fields) == (200, True, True)


@pytest.mark.parametrize(
    ("body", "count"),
    [(b"", 0), (b"\n", 1), (b"x", 1), (b"x\n", 1), (b"x\n\ny", 3), (b"x\n\n", 2), (b"\r\n\r\n", 2)],
)
def test_line_count_includes_empty_lines(client, body, count):
    response = post(client, "/labels", body).json()
    assert (response["lines"]["lines"] if count else response["lines"]) == count


@pytest.mark.parametrize("path", ALL)
def test_too_many_lines_get_413(client, path):
    assert post(client, path, b"1\n" * MAX_LINES).status_code == 422
    response = post(client, path, b"\n" * MAX_LINES + b"1")
    assert (response.status_code, response.json()["what"]) == (
        413,
        f"expected at most {MAX_LINES} lines in the body",
    )
    assert "split" in response.json()["hint"]


def test_compressed_body_is_rejected_with_a_hint(client):
    headers = {"content-type": NDJSON, "content-encoding": "gzip"}
    for path in ALL:
        response = client.post(path, content=gzip.compress(b"{}"), headers=headers)
        assert (response.status_code, "without `Content-Encoding`" in response.json()["hint"]) == (415, True)


def test_openapi_has_lines_where_accepted(client):
    paths = client.get("/openapi.json").json()["paths"]
    taking = {path for path, each in paths.items() if NDJSON in str(each.get("post", {}).get("requestBody"))}
    assert taking == {*ALL}
