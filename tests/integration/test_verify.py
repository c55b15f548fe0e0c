"""`verify` on a stream that is being written, through each client: no false alarm, whatever is under way."""

import json
import threading
import time

import pytest

from service.settings.load import Settings
from service.stream.protocol import Output
from service.verify.verify import verify
from tests.integration.conftest import ON_SQLITE_AND_KAFKA
from tests.service.building import event, label

PARTITIONS = 2
AUDITS = 3


@pytest.fixture
def writing(stream):
    """Write events, labels and bad records for as long as the test takes."""
    stream.create(PARTITIONS)
    ended = threading.Event()
    thread = threading.Thread(target=write, args=(stream, ended), daemon=True)
    thread.start()
    yield ended
    ended.set()
    thread.join(60)


def write(stream, ended):
    """Write chunk after chunk; every third event gets its label a chunk later, every tenth record is bad."""
    for chunk in range(100_000):
        if ended.wait(0.2):
            return
        events, labels = stream.topics["events"], stream.topics["labels"]
        numbers = range(chunk * 20, chunk * 20 + 20)
        outputs = [message(events, event(f"e{n}", "win" if n % 2 else "lose")) for n in numbers]
        outputs += [
            message(labels, label(f"e{n - 20}", n % 2 > 0)) for n in numbers if n >= 20 and n % 3 == 0
        ]
        outputs += [Output(events, b"%d" % n, b"junk") for n in numbers if n % 10 == 0]
        stream.transport.produce(outputs)


def message(topic, fields):
    return Output(topic, fields["id"].encode(), json.dumps(fields).encode())


def verified(stream):
    given = {name: value for name, value in stream.settings.items() if name != "http"}
    return verify(stream.transport, Settings(**given, http=""))


@ON_SQLITE_AND_KAFKA
@pytest.mark.timeout(180)
def test_running_and_stopped_service_are_proved(stream, writing, serve):
    service = serve(partitions=PARTITIONS, max_batch_records=50, snapshot_interval_records=200)
    service.ready()
    judged = []
    for _ in range(AUDITS):
        report = verified(stream)
        assert report.is_proved, report.findings.kept
        judged.append(report.predictions)
        time.sleep(0.3)
    assert judged[-1] > judged[0]
    writing.set()
    assert service.stop() == 0
    assert serve("--exit-at-end").wait() == 0
    report = verified(stream)
    assert report.is_proved, report
    assert (report.notes, report.not_yet_evaluated) == ([], 0)
    assert report.predictions + report.outcomes == len(stream.outputs())
    assert report.dead_letters == len(stream.records("dead-letters"))
