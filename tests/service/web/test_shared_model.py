"""How partitions that share their model are shown."""

import pytest

from tests.service.web.stage import SharingStage, Stage


@pytest.fixture
def stage(stream):
    stage = SharingStage(stream)
    yield stage
    stage.party.close()


def shares(client, *partitions):
    return [client.get("/state", params={"partition": each}).json()["share"] for each in partitions]


def test_a_partition_tells_its_round_its_distance_and_which_others_it_waits_for(stage):
    stage.party.clock.seconds += 30
    with stage.served() as client:
        first, second = shares(client, 0, 1)
    assert first["round"] == 1
    assert first["distance"] == stage.party.members[0].distance > 0
    assert first["waits_for"] == [1]
    assert 30 < first["waited_seconds"] < 31
    assert second == {"round": 1, "distance": 0, "waits_for": [], "waited_seconds": 0}


def test_it_waits_no_longer_once_the_other_has_contributed(stage):
    stage.party.take_part(1)
    with stage.served() as client:
        assert shares(client, 0)[0]["waits_for"] == []


def test_the_row_of_each_partition_says_how_it_stands(stage):
    stage.party.take_part(0, 1)
    stage.commit()
    with stage.served() as client:
        state = client.get("/state").json()
    assert state["share"] is None
    assert [each["share"]["round"] for each in state["rows"]] == [2, 2]


def test_the_model_of_a_partition_is_described_with_its_part_in_the_shared_one(stage):
    with stage.served() as client:
        described = client.get("/model", params={"partition": 0}).json()
    assert described["share"]["round"] == 1
    assert described["share"]["waits_for"] == [1]


def test_a_model_of_its_own_has_no_part_in_one():
    with Stage().served() as client:
        assert "share" not in client.get("/model").json()
        assert client.get("/state").json()["share"] is None
