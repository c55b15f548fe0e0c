import pytest

from tests.service.audit.audited_stream import LOG, Audited, produce


@pytest.fixture
def open_stream():
    opened = []

    def make(**given):
        opened.append(Audited(**given))
        return opened[-1]

    yield make
    for stream in opened:
        stream.close()


@pytest.fixture(autouse=True)
def no_patience(monkeypatch):
    """Wait for nothing that is lacking: nobody writes any more."""
    monkeypatch.setattr("service.loop.runner._IDLE_POLL_SECONDS", 0.002)
    monkeypatch.setattr("service.audit.auditor.VISIBILITY_SECONDS", 0.0)
    monkeypatch.setattr("service.audit.committed.commits.VISIBILITY_SECONDS", 0.0)


@pytest.fixture
def stream(open_stream):
    stream = open_stream(labels_topic="")
    produce(stream, *LOG)
    return stream.run()
