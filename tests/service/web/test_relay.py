"""A parent of workers passes questions on: the answers are those of the process that has the model."""

import pytest

from service.monitoring.health import State
from service.partitioner import partition_for_key
from service.workers.worker import for_parent
from tests.service.building import event
from tests.service.web.stage import Stage, relayed

IDS = [f"event-{number}" for number in range(20)]


@pytest.fixture(scope="module")
def stages():
    """Two workers, whose models have learned different things."""
    stages = Stage(partitions=(0,)), Stage(partitions=(1,))
    for partition, stage in enumerate(stages):
        for number in range(partition + 1):
            stage(event(f"a{number}", f"win x{number}", label=True), partition=partition)
            stage(event(f"b{number}", f"win y{partition}", label=False), partition=partition)
    return stages


@pytest.fixture(scope="module")
def parent(stages):
    with relayed(*stages) as client:
        yield client


@pytest.fixture(scope="module")
def workers(stages):
    with stages[0].served() as first, stages[1].served() as second:
        yield first, second


def told(answer):
    return answer.status_code, answer.headers["content-type"], answer.content


@pytest.mark.parametrize("partition", [0, 1])
def test_a_partition_is_asked_for_at_the_worker_that_has_it(parent, workers, partition):
    worker, which, question = workers[partition], {"partition": partition}, event("q", "win x1 y1")
    for path in ("/predict", "/explain"):
        assert told(parent.post(path, params=which, json=question)) == told(worker.post(path, json=question))
    mine, its = (client.get("/model", params={"top": 2} | which).json() for client in (parent, worker))
    mine.pop("memory"), its.pop("memory")
    assert mine == its
    assert len(mine["weights"]) == 2


@pytest.mark.parametrize("name", IDS)
def test_an_event_is_answered_by_the_model_of_its_own_partition(parent, name):
    answer = parent.post("/explain", json=event(name, "win"))
    assert answer.json()["partition"] == partition_for_key(name.encode(), 2)


@pytest.mark.parametrize("path", ["/predict", "/explain"])
def test_an_event_that_no_worker_owns_is_told_so(path):
    """The workers have partitions 1 and 2 of three; another service has the first."""
    with relayed(Stage(partitions=(1, 2)), n_partitions=3) as parent:
        answers = {name: parent.post(path, json=event(name)).json() for name in IDS}
    for name, answer in answers.items():
        own = partition_for_key(name.encode(), 3)
        assert (answer["partition"], answer["owned"]) == ((own, True) if own else (1, False))


def test_without_an_event_the_first_partition_is_shown(parent):
    assert parent.get("/model").json()["partition"] == 0


def test_the_page_learns_of_all_partitions_and_how_all_are(stages):
    with relayed(*stages, state=State.UNAVAILABLE, reason="worker 2: away") as parent:
        state = parent.get("/state", params={"partition": 1}).json()
    assert (state["partition"], state["partitions"]) == (1, [0, 1])
    assert (state["state"], state["reason"]) == ("unavailable", "worker 2: away")


def test_the_page_shows_all_workers_together(stages, parent):
    state = parent.get("/state").json()
    counts = [feed.counters for stage in stages for feed in stage.feeds.values()]
    assert (state["partition"], state["partitions"]) == ("all", [0, 1])
    assert state["counts"]["mistakes"] == sum(each.mistakes for each in counts)
    assert state["history"]["mistakes"][-1] == state["counts"]["mistakes"]
    assert [each["partition"] for each in state["rows"]] == [0, 1]


def test_a_worker_that_does_not_answer_is_left_out(stages):
    with relayed(stages[0]) as parent:
        parent.elsewhere.addresses()[1] = "http://127.0.0.1:9"  # the port of `discard`: nobody listens
        state = parent.get("/state").json()
    assert (state["partitions"], [each["partition"] for each in state["rows"]]) == ([0, 1], [0])


def test_where_no_worker_answers_the_page_is_told(stages):
    with relayed(*stages) as parent:
        parent.hang_up()
        answer = parent.get("/state")
    assert (answer.status_code, answer.json()["what"]) == (503, "no worker answers")


@pytest.mark.parametrize(
    ("method", "path", "given"),
    [
        ("POST", "/predict", {"content": b"{", "headers": {"Content-Type": "application/json"}}),
        ("POST", "/predict", {"content": b"x"}),
        ("POST", "/explain", {"json": event("q", label=True)}),
        ("POST", "/explain", {"json": {"id": 7, "text": "x"}}),
        ("POST", "/explain", {"json": []}),
        ("GET", "/model", {"params": {"top": -1}}),
        ("GET", "/model", {"params": {"partition": "x"}}),
        ("GET", "/model", {"params": {"partition": "-1"}}),
        ("GET", "/model", {"params": {"partition": "00"}}),
        ("GET", "/model", {"params": {"partition": "9" * 5000}}),
        ("GET", "/predict", {}),
        ("GET", "/nothing", {}),
    ],
)
def test_what_is_wrong_is_said_in_the_same_words(parent, workers, method, path, given):
    mine, its = (client.request(method, path, **given) for client in (parent, workers[0]))
    assert told(mine) == told(its)
    assert mine.status_code >= 400


def test_the_api_is_described_as_the_workers_describe_it(parent, workers):
    assert parent.get("/openapi.json").json() == workers[0].get("/openapi.json").json()
    assert parent.get("/docs").status_code == 200


def test_a_partition_that_none_of_them_has_is_not_found_and_those_of_all_are_named(parent):
    answer = parent.get("/model", params={"partition": 7})
    assert answer.status_code == 404
    assert "served here: 0, 1" in answer.json()["what"]


def test_before_any_is_at_work_the_answer_is_to_come_back_later():
    with relayed() as parent:
        for answer in (parent.get("/model"), parent.get("/state"), parent.post("/predict", json=event("q"))):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
            assert "/readyz" in answer.json()["hint"]


def test_one_that_has_gone_is_said_with_a_hint(stages):
    with relayed(*stages) as parent:
        parent.hang_up()
        answer = parent.get("/model", params={"partition": 1})
    assert answer.status_code == 503
    assert "the worker that has the model does not answer" in answer.json()["what"]
    assert "ask again" in answer.json()["hint"]


def test_the_token_goes_with_the_question(stages):
    guarded = [Stage(partitions=(partition,), http_token="sesame") for partition in (0, 1)]
    with relayed(*guarded, http_token="sesame") as parent:
        assert parent.get("/model").status_code == 401
        answer = parent.get("/model", headers={"Authorization": "Bearer sesame"})
    assert (answer.status_code, answer.json()["partition"]) == (200, 0)


def test_a_worker_answers_its_parent_whatever_names_the_service_has():
    stage = Stage(http_hosts="perceptron.example")
    stage.settings = for_parent(stage.settings)
    with relayed(stage, http_hosts="perceptron.example") as parent:
        answer = parent.post("/events", json=event("e"), headers={"Host": "perceptron.example"})
    assert answer.status_code == 200


def test_a_mapped_event_goes_to_the_worker_of_its_partition():
    mapping = {"id": "meta.number", "text": "body"}
    stages = [Stage(partitions=(partition,), events=mapping) for partition in range(3)]
    with relayed(*stages, events=mapping) as parent:
        for number in range(5):
            answer = parent.post("/predict", json={"meta": {"number": number}, "body": "win"}).json()
            assert answer["partition"] == partition_for_key(str(number).encode(), 3)
