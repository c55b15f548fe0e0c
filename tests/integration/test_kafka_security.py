"""The whole service at a real broker that asks who is there, and what it says when it is not let in."""

import contextlib
import re

import pytest

from tests.integration.conftest import Stream
from tests.support.kafka_site import KAFKA_CLIENTS
from tests.support.perceptron_process import PerceptronProcess
from tests.support.reference_streams import phishing_events, run_bare
from tests.support.secured_kafka import (
    KEY_PASSWORD,
    PASSWORD,
    USER,
    Certificates,
    add_scram_user,
    broker_settings,
)

pytestmark = pytest.mark.kafka

EVENTS = 200
# kafka-python keeps trying until its time for connecting is up; librdkafka tells at once.


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def broker(make_kafka_broker, certificates):
    with make_kafka_broker(settings=broker_settings(certificates), protocols=("SASL_SSL", "SSL")) as broker:
        add_scram_user(broker.address)
        yield broker


@pytest.fixture
def url(broker):
    """Return the open listener, at which a test looks on."""
    return f"kafka://{broker.address}"


@pytest.fixture
def stream(url):
    opened = Stream(url, "kafka-python")
    yield opened
    opened.transport.close()


def with_password(broker, certificates):
    """Return the settings of a client that logs in with a password."""
    return {
        "broker": f"kafka://127.0.0.1:{broker.ports['SASL_SSL']}",
        "kafka__security_protocol": "SASL_SSL",
        "kafka__sasl_mechanism": "PLAIN",
        "kafka__sasl_username": USER,
        "kafka__sasl_password": PASSWORD,
        "kafka__ssl_cafile": certificates.authority,
    }


def with_certificate(broker, certificates):
    """Return the settings of a client that logs in with a certificate."""
    return {
        "broker": f"kafka://127.0.0.1:{broker.ports['SSL']}",
        "kafka__security_protocol": "SSL",
        "kafka__ssl_cafile": certificates.authority,
        "kafka__ssl_certfile": certificates.client,
        "kafka__ssl_keyfile": certificates.client_key,
        "kafka__ssl_password": KEY_PASSWORD,
    }


@pytest.fixture(params=["PLAIN", "SCRAM-SHA-512", "certificate"])
def login(request, broker, certificates, tmp_path):
    """Return the settings of each way to log in; passwords from a file, as a container gets them."""
    if request.param == "certificate":
        given, secret = with_certificate(broker, certificates), "kafka__ssl_password"
    else:
        given, secret = with_password(broker, certificates), "kafka__sasl_password"
        given["kafka__sasl_mechanism"] = request.param
    file = tmp_path / "secret"
    file.write_text(given.pop(secret) + "\n", encoding="utf-8")
    return given | {f"{secret}_file": file}


def run(folder, settings, *arguments):
    with PerceptronProcess(*arguments, folder=folder, settings=settings) as process:
        code = process.wait()
    assert code == 0, process.stderr
    for secret in (PASSWORD, KEY_PASSWORD):
        assert secret not in process.stdout + process.stderr
    return process


@pytest.mark.parametrize("kafka_client", KAFKA_CLIENTS)
def test_service_works_on_a_secured_broker_and_reveals_no_secret(stream, login, kafka_client, tmp_path):
    events = phishing_events()[:EVENTS]
    stream.create()
    stream.produce(events)
    settings = stream.settings | login | {"kafka_client": kafka_client, "log_level": "debug"}
    run(tmp_path, settings, "serve", "--exit-at-end")
    assert stream.outputs() == run_bare(events).predictions


def wrong_logins(broker, certificates, client):
    """Return settings by what is wrong with them, and what the error and the hint have to say."""
    password = {"kafka_client": client} | with_password(broker, certificates)
    certificate = {"kafka_client": client} | with_certificate(broker, certificates)
    elsewhere = password["broker"].replace("127.0.0.1", "localhost")
    without = {name: certificate[name] for name in certificate if "cert" not in name and "key" not in name}
    del without["kafka__ssl_password"]
    return {
        "password": (
            password | {"kafka__sasl_password": "guess"},
            # kafka-python: the broker may close it before the answer is read
            "invalid username or password" + "|authentication failed: " * (client == "kafka-python"),
            "kafka.sasl_",
        ),
        "authority": (
            password | {"kafka__ssl_cafile": certificates.stranger},
            "tls failed: ",
            "kafka.ssl_cafile",
        ),
        "host": (password | {"broker": elsewhere}, "tls failed: ", "the host in `broker`"),
        "no certificate": (without, "alert.bad.certificate", "kafka.ssl_certfile"),
        "key": (
            certificate | {"kafka__ssl_password": "guess"},
            "kafka.ssl_keyfile, kafka.ssl_password: ",
            "the password that opens it",
        ),
    }


@pytest.fixture(scope="module", params=KAFKA_CLIENTS)
def rejected(request, broker, certificates, tmp_path_factory):
    """Try all wrong logins of a client at once: kafka-python takes its time over each."""
    folder = tmp_path_factory.mktemp("rejected")
    with contextlib.ExitStack() as stack:

        def attempt(settings):
            return stack.enter_context(PerceptronProcess("status", folder=folder, settings=settings))

        logins = wrong_logins(broker, certificates, request.param)
        yield {name: (attempt(settings), said, hint) for name, (settings, said, hint) in logins.items()}


@pytest.mark.parametrize("wrong", ["password", "authority", "host", "no certificate", "key"])
def test_wrong_login_is_reported_in_one_line_with_hint(rejected, wrong):
    process, said, hinted = rejected[wrong]
    assert process.wait() == (2 if wrong == "key" else 1)
    error, hint = process.stderr.splitlines()
    assert error.startswith("error: ")
    assert re.search(said, error, re.IGNORECASE)
    assert hint.startswith("hint: ")
    assert hinted in hint
    assert PASSWORD not in process.stderr
