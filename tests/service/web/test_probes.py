import pytest

from service.monitoring.health import State


def test_metrics_come_as_text_or_as_openmetrics(client):
    plain = client.get("/metrics")
    assert plain.headers["content-type"].startswith("text/plain")
    assert "perceptron_build_info" in plain.text
    openmetrics = client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert openmetrics.headers["content-type"].startswith("application/openmetrics-text")
    assert openmetrics.text.endswith("# EOF\n")


PROMETHEUS = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
    "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
    "text/plain;version=0.0.4;q=0.2,*/*;q=0.1"
)


@pytest.mark.parametrize(
    ("accept", "is_openmetrics"),
    [
        (PROMETHEUS, True),
        ("application/openmetrics-text", True),
        ('Application/OpenMetrics-Text; Version="1.0.0"', True),
        ("text/plain;q=0.5, application/openmetrics-text;q=0.5", True),
        ("application/openmetrics-text;q=0.1, text/plain", False),
        ("application/openmetrics-text; q=0", False),
        ("application/openmetrics-text; version=abc", False),
        ("application/openmetrics-text; version=99.0.0", False),
        ("application/openmetrics-text; version=1.0.0; escaping=odd", True),
        ("application/openmetrics-text; version=abc, application/openmetrics-text; version=1.0.0", True),
        ("application/openmetrics-text; q=abc", False),
        ("application/openmetrics-text; q=nan", False),
        ("text/plain; version=abc", False),
        ("application/json", False),
        ("*/*", False),
        (",;=;,q", False),
        ("", False),
        ("\xff" * 5000, False),
    ],
)
def test_whatever_is_accepted_metrics_come_in_one_of_the_two_forms(client, accept, is_openmetrics):
    answer = client.get("/metrics", headers={"Accept": accept.encode("latin-1")})
    assert answer.status_code == 200
    assert answer.text.endswith("# EOF\n") == is_openmetrics
    form = "application/openmetrics-text; version=1.0.0" if is_openmetrics else "text/plain; version=0.0.4"
    assert answer.headers["content-type"].startswith(form)


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
