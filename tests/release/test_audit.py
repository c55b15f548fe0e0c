"""What `pip-audit` reports is printed as it is: an audit of nothing is not a clean bill."""

from tools.release.audit import verdict

SOUND = {"name": "click", "version": "8.5.1", "vulns": []}
UNKNOWN = {"name": "river", "skip_reason": "Dependency not found"}
OURS = {"name": "online-perceptron", "skip_reason": "Dependency not found"}
BAD = {"name": "kafka-python", "version": "1.0", "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}]}


def test_sound_packages_pass_and_unknown_ones_are_counted():
    assert verdict([SOUND, UNKNOWN, OURS]) == (
        "no known vulnerability in 1 packages; 1 are unknown to the index",
        0,
    )


def test_an_index_that_knows_nothing_has_audited_nothing():
    text, code = verdict([UNKNOWN, UNKNOWN, OURS])
    assert text == "skipped: the index answered about none of 2 packages"
    assert code == 0


def test_a_vulnerable_package_fails_with_its_advisories():
    text, code = verdict([SOUND, BAD])
    assert code == 1
    assert "kafka-python 1.0: PYSEC-1" in text
    assert "kafka-python 1.0: PYSEC-2" in text
