import pytest

from service.health import State


def test_metrics_come_as_text_or_as_openmetrics(client):
    plain = client.get("/metrics")
    assert plain.headers["content-type"].startswith("text/plain")
    assert "perceptron_build_info" in plain.text
    openmetrics = client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert openmetrics.headers["content-type"].startswith("application/openmetrics-text")
    assert openmetrics.text.endswith("# EOF\n")


@pytest.mark.parametrize(
    ("state", "live", "ready"),
    [
        (State.STARTING, 200, 503),
        (State.READY, 200, 200),
        (State.UNAVAILABLE, 200, 503),
        (State.STOPPED, 503, 503),
    ],
)
def test_the_probes_tell_the_truth(stage, client, state, live, ready):
    stage.health.become(state, "why")
    assert client.get("/livez").status_code == live
    answer = client.get("/readyz")
    assert answer.status_code == ready
    assert answer.json() == {"state": state, "reason": "why"}
