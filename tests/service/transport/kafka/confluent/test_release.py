import confluent_kafka
import pytest

from service.errors import ConfigurationError
from service.transport.kafka.confluent.release import RELEASE


@pytest.mark.parametrize("release", ["1.9.2", "2.10.1"])
def test_a_release_that_is_too_old_is_refused_with_those_that_were_tested(monkeypatch, release):
    monkeypatch.setattr(confluent_kafka, "__version__", release)
    with pytest.raises(
        ConfigurationError, match=f"{release} cannot be used: it is older than 2.11"
    ) as refusal:
        RELEASE.check()
    assert "pip install 'confluent-kafka==2.16.1'" in refusal.value.hint


@pytest.mark.parametrize("release", ["2.11.0", "2.16.1", "2.17.0rc1", "3.0.0"])
def test_a_release_that_is_new_enough_is_not_refused(monkeypatch, release):
    monkeypatch.setattr(confluent_kafka, "__version__", release)
    RELEASE.check()
