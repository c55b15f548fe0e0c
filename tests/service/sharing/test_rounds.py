import pytest

from service.partition.factory import make_processor
from tests.service.building import settings
from tests.service.sharing.streams import SHARED


@pytest.fixture
def rounds():
    return make_processor(settings(**SHARED)).rounds


@pytest.fixture
def base():
    """Return what another partition tells of its rounds."""
    other = make_processor(settings(**SHARED)).rounds
    other.shared.model.learn_one({"theirs": 1.0}, y=True)
    other.open(1)
    return other.state()


def learned(rounds):
    return rounds.shared.model.weights.keys()


def test_a_partition_that_never_contributed_keeps_what_it_learned_as_its_shift(rounds, base):
    rounds.shared.model.learn_one({"own": 1.0}, y=True)
    assert rounds.adopt(base, -1) == 0
    assert "own" in learned(rounds)
    assert rounds.shared.n_updates == 1
    assert (rounds.start, rounds.round, rounds.sent) == (1, 0, 0)


def test_a_partition_that_contributed_before_forgets_what_the_base_may_hold(rounds, base):
    rounds.shared.model.learn_one({"own": 1.0}, y=True)
    assert rounds.adopt(base, 3) == 1
    assert "own" not in learned(rounds)
    assert rounds.sent == rounds.taken_over == 3
