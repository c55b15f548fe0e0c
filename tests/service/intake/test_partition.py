"""The intake of one partition: each id is appended once, whatever happens in between."""

import pytest

from service.errors import AppendUnsure, IdTaken, MessageTooLarge, PartitionMoved
from tests.service.building import event
from tests.service.intake.conftest import NO_LIMIT, SECONDS, Scene, eventually


def ids(writer):
    return [output.key.decode() for output in writer.committed]


def appended(ticket):
    """Wait until it is appended; return whether it had been before."""
    if (error := ticket.appended.result(SECONDS)) is not None:
        raise error
    return ticket.repeated


@pytest.fixture(params=["appended", "processed"])
def known(request, scene):
    """Return what is done with all that was appended: nothing yet, or it is processed."""
    return scene.process_all if request.param == "processed" else lambda: None


def test_submissions_wait_for_all_earlier_records(scene):
    """Who asks first lets the loop make a writer; the same event comes out of the log meanwhile."""
    waiting = scene.event(event("a"))
    assert scene.intake.wants_writer
    scene.process(scene.read.event(b'{"id": "a", "text": "x", "features": {}}').output)
    assert not waiting.appended.done()
    scene.open()
    assert appended(waiting)
    assert scene.writer.committed == []


def test_repeated_label_is_appended_once(scene, known):
    scene.open()
    appended(scene.event(event("a")))
    scene.process_all()
    appended(scene.label("a", label=True))
    known()
    scene.writer.committed = []
    assert appended(scene.label("a", label=True))
    assert scene.writer.committed == []


def test_repeated_early_label_is_recognized(scene):
    scene.open()
    appended(scene.label("a", label=True))
    scene.process_all()
    assert appended(scene.label("a", label=True))


def test_repeated_event_gets_its_decision_again():
    scene = Scene(decisions=[{"name": "block", "max_rate": "1/day"}]).open()
    for name in "ab":
        appended(scene.event(event(name)))
    scene.process_all()
    repeated = [scene.event(event(name)).result.result(SECONDS) for name in "ab"]
    assert [each["decision"] for each in repeated] == ["block", None]


def test_requests_of_one_id_share_the_running_append(scene):
    scene.open(scene.writer)
    first = scene.event(event("a"))
    assert scene.writer.under_way.wait(SECONDS)
    second, third = scene.event(event("a")), scene.event(event("a"))
    assert not first.appended.done()
    scene.writer.end()
    assert [appended(each) for each in (first, second, third)] == [False, True, True]
    assert ids(scene.writer) == ["a"]
    scene.process_all()
    assert first.result.result(0) == second.result.result(0) == third.result.result(0)


def test_requests_during_an_append_are_appended_together_next(scene):
    scene.open(scene.writer)
    scene.event(event("a"))
    assert scene.writer.under_way.wait(SECONDS)
    tickets = [scene.event(event(name)) for name in "bcd"]
    scene.writer.end()
    for ticket in tickets:
        appended(ticket)
    assert ids(scene.writer) == ["a", "b", "c", "d"]


@pytest.mark.parametrize(
    "other", [event("a", "lose"), event("a", "win", label=True), event("a", "win", size=1)]
)
def test_another_event_under_the_same_id_is_rejected(scene, known, other):
    scene.open()
    appended(scene.event(event("a", "win")))
    known()
    with pytest.raises(IdTaken, match="'a' exists with other"):
        appended(scene.event(other))


@pytest.mark.parametrize("known", ["appended", "processed"])
def test_repeated_event_brings_its_label_without_a_labels_topic(known):
    scene = Scene(labels_topic="", events={"label": "cb", "features": "a"}).open()
    first, others = {"id": "7", "a": 1}, [{"id": "7", "a": 1, "cb": label} for label in (True, False)]
    for message in (first, *others):
        assert not appended(scene.event(message))
        if known == "processed":
            scene.process_all()
    assert appended(scene.event(others[1]))
    with pytest.raises(IdTaken) as error:
        appended(scene.event(first | {"a": 2}))
    assert error.value.hint == "give another event a new id"


def test_late_label_of_an_expired_event_is_appended_without_a_labels_topic():
    scene = Scene(labels_topic="", max_pending=1).open()
    for name in "ab":
        appended(scene.event(event(name)))
    scene.process_all()
    assert not appended(scene.event(event("a", label=True)))


def test_labelled_event_may_be_repeated_without_its_label(scene, known):
    scene.open()
    appended(scene.event(event("a", "win", label=True)))
    known()
    assert appended(scene.event(event("a", "win")))


def test_another_label_of_the_same_id_corrects_the_first(scene, known):
    scene.open()
    appended(scene.event(event("a")))
    appended(scene.label("a", label=True))
    known()
    scene.writer.committed = []
    assert not appended(scene.label("a", label=False))
    assert [output.value for output in scene.writer.committed] == [b'{"id": "a", "label": false}']


def test_correction_back_is_appended_before_processing(scene):
    scene.open()
    for label in (True, False, True):
        assert not appended(scene.label("a", label))
    scene.process_all()
    assert scene.feed.processor.join.early["a"].truth is True
    assert scene.intake.n_open == 0


def test_written_append_reported_as_failed_is_not_repeated(scene):
    scene.open(scene.writer)
    ticket = scene.event(event("a"))
    assert scene.writer.under_way.wait(SECONDS)
    scene.fail()
    with pytest.raises(AppendUnsure):
        appended(ticket)
    again = scene.event(event("a"))
    scene.process(ticket.submission.output)
    scene.open()
    assert appended(again)
    assert scene.writer.committed == []


def test_next_writer_appends_requests_after_a_failed_append(scene):
    scene.open(scene.writer)
    scene.event(event("a"))
    assert scene.writer.under_way.wait(SECONDS)
    behind = scene.event(event("b"))
    scene.fail()
    eventually(lambda: scene.intake.wants_writer)
    assert not behind.appended.done()
    scene.open()
    assert not appended(behind)
    assert ids(scene.writer) == ["b"]


def test_record_processed_before_its_append_returns_has_a_result(scene):
    scene.open(scene.writer)
    ticket = scene.event(event("a"))
    assert scene.writer.under_way.wait(SECONDS)
    scene.process(ticket.submission.output._replace(partition=0))
    assert ticket.result.result(0)["id"] == "a"
    scene.fail()
    assert not appended(ticket)


def test_record_rejected_by_the_topic_fails_alone(scene):
    scene.open(limits=NO_LIMIT | {"events": 200})
    with pytest.raises(MessageTooLarge, match="'events' takes at most 200"):
        appended(scene.event(event("a", "x" * 200)))
    assert not appended(scene.event(event("b")))


def test_waiting_requests_of_a_revoked_partition_must_be_sent_again(scene):
    waiting = scene.event(event("a"))
    scene.intake.close()
    for ticket in (waiting, scene.event(event("b"))):
        with pytest.raises(PartitionMoved):
            appended(ticket)


def test_appended_event_of_a_revoked_partition_has_no_prediction(scene):
    scene.open()
    ticket = scene.event(event("a"))
    appended(ticket)
    scene.intake.close()
    assert ticket.result.result(0) is None


def test_revoked_partition_closes_its_writer_after_the_append(scene):
    scene.open(scene.writer)
    ticket = scene.event(event("a"))
    assert scene.writer.under_way.wait(SECONDS)
    scene.intake.close()
    assert not scene.writer.is_closed
    scene.writer.end()
    assert not appended(ticket)
    eventually(lambda: scene.writer.is_closed)


def test_partition_revoked_before_it_is_ready_closes_its_writer(scene):
    scene.event(event("a"))
    scene.intake.fence(scene.writer, {"events": 7}, NO_LIMIT)
    scene.intake.close()
    assert scene.writer.is_closed


def test_event_evicted_without_label_is_known_without_its_prediction():
    scene = Scene(max_pending=1).open()
    for name in "ab":
        appended(scene.event(event(name)))
    scene.process_all()
    again = scene.event(event("a"))
    assert appended(again)
    assert again.result.result(0) is None


@pytest.mark.parametrize(("label", "comes"), [(False, "in time"), (False, "late"), (True, "late")])
def test_label_equal_to_the_timeouts_is_appended(label, comes):
    scene = Scene(label_timeout_seconds=10, events={"label_on_timeout": "false"}).open()
    appended(scene.event(event("a")))
    scene.process_all()
    if comes == "late":
        scene.process(scene.read.event(b'{"id": "b", "text": "x"}').output, at_seconds=11)
        assert scene.feed.processor.join.examples["a"].truth is False
    assert not appended(scene.label("a", label))
    assert [output.topic for output in scene.writer.committed] == ["labels"]


def test_repeated_tenant_event_is_recognized():
    scene = Scene(events={"text": ["text"], "tenant": "tenant"}).open()
    message = {"id": "a", "text": "win", "tenant": "acme"}
    appended(scene.event(message))
    scene.process_all()
    assert appended(scene.event(message))
    assert scene.writer.committed == []
