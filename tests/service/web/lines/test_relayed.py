"""A parent of workers takes lines as one process that has all partitions does."""

import json

import pytest

from service.partitioner import partition_for_key
from tests.service.building import event
from tests.service.web.lines.sending import body_of, post
from tests.service.web.lines.test_appends import EVENTS, outcome
from tests.service.web.stage import Stage, relayed


@pytest.fixture
def stages():
    stages = Stage(partitions=(0,)), Stage(partitions=(1,))
    for stage in stages:
        stage.live.n_partitions = 2
    return stages


@pytest.mark.parametrize(
    "lines", [EVENTS, [], [*EVENTS, b"{", EVENTS[0], EVENTS[1] | {"text": "other"}, b""]]
)
def test_lines_are_taken_as_by_one_process(stages, lines):
    alone = Stage(partitions=(0, 1))
    with alone.served() as client:
        expected = outcome(client, "/events", lines)
    with relayed(*stages) as parent:
        assert outcome(parent, "/events", lines) == expected
    for partition, stage in enumerate(stages):
        assert stage.appended == [each for each in alone.appended if each.partition == partition]


def test_the_lines_of_a_worker_that_does_not_answer_are_to_be_sent_again(stages):
    with relayed(*stages) as parent:
        parent.elsewhere.addresses()[1] = "http://127.0.0.1:9"  # the port of `discard`: nobody listens
        _, problems = outcome(parent, "/events", EVENTS)
    away = [n for n, each in enumerate(EVENTS, 1) if partition_for_key(each["id"].encode(), 2) == 1]
    assert [(each["line"], each["status"]) for each in problems] == [(number, 503) for number in away]


def test_a_body_that_one_worker_refuses_as_a_whole_is_refused_for_its_lines(stages):
    with relayed(*stages) as parent:
        answer = post(parent, "/events", body_of(*EVENTS), wait_seconds=1).json()
        alone = post(parent, "/events", body_of(EVENTS[0]), wait_seconds=1).json()
    assert len(answer["lines"]["problems"]) == 10
    assert "lines" not in alone


def test_if_a_worker_does_not_answer_no_line_is_predicted(stages):
    for partition, stage in enumerate(stages):
        stage(event("p"), partition=partition)
    with relayed(*stages) as parent:
        lines = body_of(*EVENTS)
        predicted = [json.loads(line)["id"] for line in post(parent, "/predict", lines).content.splitlines()]
        assert predicted == [each["id"] for each in EVENTS]
        parent.elsewhere.addresses()[1] = "http://127.0.0.1:9"
        assert post(parent, "/predict", lines).status_code == 503


def test_without_a_worker_lines_are_to_be_sent_again(stages):
    with relayed(*stages) as parent:
        parent.elsewhere.addresses().clear()
        for path in ("/predict", "/labels"):
            assert post(parent, path, b"{}").status_code == 503
