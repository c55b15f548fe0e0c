import pytest

from service.transport.kafka.published import PUBLISHED_ONLY, published_only, report_published_way


@pytest.mark.parametrize(("given", "forced"), [(None, False), ("", False), ("0", False), ("1", True)])
def test_the_published_way_is_forced_by_a_variable(monkeypatch, given, forced):
    monkeypatch.delenv(PUBLISHED_ONLY, raising=False)
    if given is not None:
        monkeypatch.setenv(PUBLISHED_ONLY, given)
    assert published_only() is forced


def test_each_lack_is_logged_once(caplog):
    for _ in range(3):
        report_published_way("a client 9.9", "reading", "`Fetcher.x` is gone")
        report_published_way("a client 9.9", "writing", "`Sender.y` is gone")
    assert caplog.messages == [
        "a client 9.9: reading in the published way, which is slower: `Fetcher.x` is gone",
        "a client 9.9: writing in the published way, which is slower: `Sender.y` is gone",
    ]
