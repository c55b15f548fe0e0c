"""Each line is answered by a line: as a request of its own would be."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import ModelBusy
from service.monitoring.live_models import LiveModel
from tests.service.building import event
from tests.service.web.lines.sending import NDJSON, body_of, post, problems_of, singly
from tests.service.web.stage import Stage
from tests.service.web.test_requests import BODIES

LINES = st.lists(BODIES.filter(lambda body: len(body) < 1000 and not {10, 13} & {*body}), max_size=6)


@pytest.fixture(scope="module")
def client():
    stage = Stage(partitions=(0, 1))
    for partition in (0, 1):
        stage(event("p", "win", f=1.5, label=True), event("q", "lose", g=-0.1), partition=partition)
    with stage.served() as client:
        yield client


def expected_of(answers):
    problems = {each["line"]: each for each in problems_of(answers)}
    return [problems.get(number, fields) for number, (_, fields) in enumerate(answers, 1)]


@given(LINES)
def test_lines_are_answered_as_requests_of_their_own(client, lines):
    answer = post(client, "/predict", body_of(*lines))
    assert (answer.status_code, answer.headers["content-type"]) == (200, NDJSON)
    expected = expected_of(singly(client, "/predict", lines))
    assert [json.loads(line) for line in answer.content.splitlines()] == expected


def test_an_answer_has_the_bytes_of_a_request_of_its_own(client):
    line = json.dumps(event("a", "win", f=0.1)).encode()
    alone = client.post("/predict", content=line, headers={"content-type": "application/json"})
    assert post(client, "/predict", line).content == alone.content + b"\n"


def test_the_partition_that_is_named_answers_all_lines(client):
    lines = body_of(*(event(f"e{number}") for number in range(20)))
    for partition in (0, 1):
        answers = post(client, "/predict", lines, partition=partition).content.splitlines()
        assert {json.loads(line)["partition"] for line in answers} == {partition}


@pytest.mark.parametrize("partition", [7, "x"])
def test_a_partition_that_is_not_there_refuses_the_body_as_it_does_an_event(client, partition):
    whole = post(client, "/predict", body_of(event("a")), partition=partition)
    ((status, fields),) = singly(client, "/predict", [b'{"id":"a","text":"x"}'], partition=partition)
    assert (whole.status_code, whole.json()) == (status, fields)


def test_a_busy_model_refuses_the_whole_body(client, monkeypatch):
    def busy(*_):
        raise ModelBusy("still learning")

    monkeypatch.setattr(LiveModel, "predict_all", busy)
    answer = post(client, "/predict", body_of(event("a"), event("b")))
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
