import pytest

from tests.service.building import event, label
from tests.service.verify.verified_stream import LOG, VerifiedStream


@pytest.fixture(scope="module")
def impatient():
    """Wait for nothing that is lacking: no one writes any more."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("service.loop.runner._IDLE_POLL_SECONDS", 0.002)
        patch.setattr("service.verify.verify.VISIBILITY_SECONDS", 0.0)
        patch.setattr("service.verify.verify._PAUSE_SECONDS", 0.0)
        yield patch


@pytest.fixture(scope="module")
def open_stream(impatient):
    opened = []

    def make(**given):
        opened.append(VerifiedStream(**given))
        return opened[-1]

    yield make
    for stream in opened:
        stream.close()


@pytest.fixture(scope="module")
def streams(open_stream):
    """Streams by what is particular about them; none is changed but in a copy."""
    apart = open_stream(labels_topic="labels", snapshots_kept=9)
    apart.produce(*LOG[:4]).produce(*(LOG[4], LOG[6]), topic="labels").run()
    apart.produce(*LOG[5:6], *LOG[7:]).produce(LOG[6] | {"id": "e"}, topic="labels").run()
    two = open_stream(labels_topic="", partitions=2)
    two.transport.ensure_topics({"events": 2})
    two.produce(
        *[each for n in range(8) for each in (event(f"e{n}"), label(f"e{n}", n % 2 > 0))], partition=None
    )
    return {
        "plain": open_stream(labels_topic="").produce(*LOG).run(),
        "apart": apart,
        "two": two.run(),
        "probable": open_stream(labels_topic="", model="normalized-adagrad").produce(*LOG).run(),
    }
