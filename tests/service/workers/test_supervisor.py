import pickle
from time import monotonic
from unittest.mock import MagicMock

import pytest
from prometheus_client import CollectorRegistry

from service import errors
from service.cli.commands.serve import http_server
from service.errors import ConfigurationError, ServiceError, StorageFull, TransportUnavailable
from service.monitoring.health import Health, State
from service.partition.counts.totals import Tally, Totals
from service.settings.kafka import KafkaSettings
from service.workers.merged_metrics import NOTHING
from service.workers.supervisor import Workers, _Place
from service.workers.worker import WorkerReport, _settings_of
from tests.service.building import settings

ERRORS = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, ServiceError)]


@pytest.fixture
def workers():
    return workers_of("sqlite:///s.db")


def workers_of(url):
    given = {"registry": CollectorRegistry(), "health": Health(), "serve_http": http_server}
    return Workers(settings(workers=2), url, **given)


def worker(**known):
    """Return a worker that runs, or is as described."""
    given = {
        "last": WorkerReport(State.READY),
        "has_ended": False,
        "is_deaf": False,
        "failure": None,
        "started_at": monotonic(),
    }
    return MagicMock(
        **{"metrics": NOTHING, "heard_at": monotonic(), "how_it_ended": "died", **given, **known}
    )


def lose(workers, **known):
    """Let the first place find its worker ended."""
    place = workers._places[0]
    place.worker = worker(has_ended=True, **known)
    workers._supervise(place)
    return place


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_of_ours_passes_the_pipe_whole(kind):
    sent = kind("what happened", hint="what to do")
    found = pickle.loads(pickle.dumps(sent))
    assert (type(found), str(found), found.hint) == (kind, "what happened", "what to do")


def test_settings_pass_the_pipe_as_they_are_resolved_with_their_secrets(monkeypatch):
    sent = settings(checkpoint_key="secret", model="arow", model_params={"r": 0.5})
    written = pickle.dumps(sent)
    monkeypatch.setenv("PERCEPTRON_MODEL", "perceptron")
    found = pickle.loads(written)
    assert found == sent
    assert found.checkpoint_key.get_secret_value() == "secret"


def test_each_worker_has_names_of_its_own_on_kafka():
    kafka = KafkaSettings(client_id="spam", instance_id="node-7")
    names = {
        (each.client_id, each.instance_id)
        for each in (_settings_of(number, settings(kafka=kafka)).kafka for number in (1, 2))
    }
    assert names == {("spam-1", "node-7-1"), ("spam-2", "node-7-2")}


def test_dynamic_membership_stays_dynamic():
    assert _settings_of(1, settings()).kafka.instance_id == ""


def test_a_stream_in_memory_cannot_be_shared():
    with pytest.raises(ConfigurationError, match=r"workers = 2: .*memory") as refused:
        workers_of("memory://")
    assert "sqlite" in refused.value.hint


def test_one_that_died_is_started_again_after_longer_and_longer_waits_but_for_one_long_life(workers):
    waits = [lose(workers).start_at - monotonic() for _ in range(6)]
    assert not workers._is_stopping
    assert 0 < waits[0] < 0.2
    assert waits[5] > 1
    assert lose(workers, started_at=monotonic() - 3600).start_at - monotonic() < 0.2
    assert workers._own.get_sample_value("perceptron_worker_restarts_total") == 7


def test_an_error_that_does_not_pass_ends_all_with_the_first_of_them(workers):
    first, second = AccessError("first"), AccessError("second")
    lose(workers, failure=first)
    lose(workers, failure=second)
    assert workers._is_stopping
    with pytest.raises(AccessError, match="first"):
        workers.run()


class AccessError(ServiceError):
    """As if."""


@pytest.mark.parametrize("error", [TransportUnavailable("away"), StorageFull("full")])
def test_a_stream_that_is_away_ends_a_service_none_of_which_ever_worked(workers, error):
    lose(workers, failure=error, last=WorkerReport())
    assert workers._is_stopping


def test_a_stream_that_is_away_is_no_reason_to_end_once_one_has_worked(workers):
    workers._places[1].worker = worker()
    workers._supervise(workers._places[1])
    lose(workers, failure=TransportUnavailable("away"), last=WorkerReport())
    assert not workers._is_stopping


def test_one_that_has_come_to_the_end_ends_all(workers):
    lose(workers, last=WorkerReport(State.STOPPED, is_finished=True))
    assert workers._is_stopping
    other = workers._places[1]
    other.worker = worker()
    workers._supervise(other)
    other.worker.leave.assert_called_once_with()


@pytest.mark.parametrize(("n_partitions", "n_warnings"), [(0, 0), (1, 1), (2, 0)])
def test_more_workers_than_partitions_are_worth_one_warning(workers, caplog, n_partitions, n_warnings):
    for place in workers._places * 2:
        place.worker = worker(last=WorkerReport(State.READY, n_partitions=n_partitions))
        workers._supervise(place)
    assert caplog.text.count("the others stand by; lower workers, or add partitions") == n_warnings


@pytest.mark.parametrize("first", [7, 9])
def test_of_a_partition_that_moved_the_newest_counts_are_told(workers, first):
    for place, records in zip(workers._places, (first, 8), strict=True):
        tally = Tally(records, Totals(records, 0, 0, 0), frozenset({True}))
        place.worker = worker(last=WorkerReport(State.READY, tallies={0: tally}))
        workers._supervise(place)
    assert workers._tallies[0].records == max(first, 8)


def test_all_are_ready_when_each_is(workers):
    for place in workers._places:
        place.worker = worker()
    assert workers._condition() == (State.READY, "")


def test_one_that_is_told_to_leave_and_says_nothing_is_killed(workers):
    workers.stop()
    frozen, other = worker(is_deaf=True), worker()
    workers._places = [_Place(1, frozen), _Place(2, other)]
    for place in workers._places:
        workers._supervise(place)
    frozen.kill.assert_called_once_with()
    other.leave.assert_called_once_with()
    other.kill.assert_not_called()


def test_while_it_stops_it_names_the_workers_that_have_yet_to_leave(workers):
    workers._places[1].worker = worker()
    workers.stop()
    assert workers._condition() == (State.UNAVAILABLE, "stopping: worker 2 has yet to leave")


def test_one_that_was_ready_may_be_silent_for_the_time_out_and_a_starting_one_for_longer(workers):
    workers._places = [_Place(1, worker()), _Place(2, worker(heard_at=monotonic() - 3.5))]
    assert workers._condition() == (State.UNAVAILABLE, "worker 2: has said nothing for 3 s")
    workers._places[1].worker.last = WorkerReport()
    assert workers._condition()[0] is State.STARTING


@pytest.mark.parametrize(
    ("second", "state", "reason"),
    [
        (lambda: None, State.UNAVAILABLE, "started again"),
        (lambda: worker(heard_at=monotonic() - 3600), State.UNAVAILABLE, "has said nothing"),
        (lambda: worker(last=WorkerReport()), State.STARTING, ""),
        (
            lambda: worker(last=WorkerReport(State.UNAVAILABLE, "broker away")),
            State.UNAVAILABLE,
            "broker away",
        ),
        (lambda: worker(last=WorkerReport(State.STOPPED, "it has ended")), State.UNAVAILABLE, "has ended"),
    ],
)
def test_one_that_is_not_ready_is_named_with_its_reason(workers, second, state, reason):
    workers._places = [_Place(1, worker()), _Place(2, second())]
    found, said = workers._condition()
    assert found is state
    assert said.startswith("worker 2: ")
    assert reason in said


def test_models_are_asked_for_where_they_are_but_not_of_the_silent(workers):
    here, there = (
        WorkerReport(State.READY, address="http://here", partitions=[0, 2], n_partitions=3),
        WorkerReport(State.READY, address="http://there", partitions=[1], n_partitions=3),
    )
    workers._places[0].worker = worker(last=here)
    workers._places[1].worker = worker(last=there)
    assert workers.addresses() == {0: "http://here", 1: "http://there", 2: "http://here"}
    assert workers.n_partitions == 3
    workers._places[0].worker = worker(last=here, heard_at=monotonic() - 60)
    assert workers.addresses() == {1: "http://there"}
