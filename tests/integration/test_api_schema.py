"""What the OpenAPI document promises, tried with requests made from it: right ones, wrong ones, odd ones."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from schemathesis import GenerationMode

from service.monitoring.health import Health
from service.monitoring.live_models import LiveModels
from service.monitoring.metrics import Metrics
from service.settings.load import Settings
from service.web.app import make_app
from tests.service.building import event
from tests.service.web.stage import Stage
from tests.support.example_counts import n_examples

EXAMPLES = n_examples(30)
"""For each endpoint and kind of request: few enough for every run, and other ones each time."""

METRICS, SETTINGS = Metrics(CollectorRegistry()), Settings()
DOCUMENT = make_app(SETTINGS, Health(), METRICS, LiveModels(SETTINGS)).openapi()
OPERATIONS = {
    operation.label: operation
    for operation in (found.ok() for found in schemathesis.openapi.from_dict(DOCUMENT).get_all_operations())
}
TAKES_NOTHING = {"GET /livez", "GET /readyz", "GET /metrics"}
"""There is no wrong way to ask these."""
CASES = [
    (name, kind)
    for name in OPERATIONS
    for kind in GenerationMode
    if kind is GenerationMode.POSITIVE or name not in TAKES_NOTHING
]


@pytest.fixture(scope="module")
def url():
    stage = Stage()
    stage(event("a", "win money", label=True), event("b", "see you", label=False), event("c", "x"))
    with stage.served() as client:
        yield str(client.base_url)


@pytest.mark.parametrize(("name", "kind"), CASES)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_responses_to_any_request_match_the_schema(url, name, kind, data):
    case = data.draw(OPERATIONS[name].as_strategy(generation_mode=kind))
    case.call_and_validate(base_url=url)
