"""`demo`: the public commands at once, with no arguments, to their end."""

import contextlib
import re
import signal
import socket
import tempfile

import pytest
from click.testing import CliRunner

from service.cli.app import cli
from service.cli.commands.demo import _OWN_SETTINGS
from tests.support.perceptron_process import PerceptronProcess
from tests.support.reference_streams import phishing_events, run_bare
from tests.support.speed import patience

pytestmark = pytest.mark.slow
FAST = ("--rate", "1000")


@pytest.fixture
def demo(tmp_path):
    with contextlib.ExitStack() as stack:

        def start(*arguments, **settings):
            return stack.enter_context(
                PerceptronProcess("demo", *arguments, folder=tmp_path, settings=settings)
            )

        yield start


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Return a demo that has run to its end, while port 8000 was in use."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # in use already: as good
            stack.enter_context(contextlib.closing(socket.create_server(("127.0.0.1", 8000))))
        process = PerceptronProcess("demo", *FAST, folder=tmp_path_factory.mktemp("demo"))
        stack.enter_context(process)
        assert process.wait(patience(300)) == 0
        yield process


def test_demo_replay_prints_a_row_at_powers_of_two(finished):
    found = [line.split() for line in finished.stderr.splitlines() if re.match(r" +[\d,]+ +\d+ ", line)]
    assert [int(row[0].replace(",", "")) for row in found] == [*(2**n for n in range(11)), 1250]
    model = run_bare(phishing_events()).model
    assert found[-1][1:] == [str(model.n_mistakes), f"{model.n_mistakes / 1250:.4f}"]
    assert re.search(rf"\b1,250 +1,250 +{model.n_mistakes} ", finished.stdout), "status"
    assert "where to look next" in finished.stdout
    assert not {"Traceback", "\x1b"} & {*re.findall("Traceback|\x1b", finished.stderr + finished.stdout)}


def test_demo_is_killed_half_way_and_proves_exactly_once(finished):
    assert "the service is killed while it works" in finished.stderr
    assert finished.stderr.count("$ perceptron serve\n") == 2
    assert "proved: 1,251 records, 1,250 predictions, 0 outcomes, 1 dead letter, " in finished.stdout
    assert "not proved" not in finished.stdout


def test_demo_uses_another_port_if_8000_is_in_use(finished):
    assert not finished.address.endswith(":8000")
    assert f"live page  {finished.address}\n" in finished.stderr


def test_demo_shows_the_log_of_a_service_that_fails(monkeypatch):
    monkeypatch.setitem(_OWN_SETTINGS, "CLASSES", "ham")
    ended = CliRunner().invoke(cli, ["demo", "--http", "127.0.0.1:0"])
    assert ended.exit_code == 1
    assert "error: the demo has ended: error: classes = 'ham'" in ended.stderr


def test_non_local_address_is_rejected():
    ended = CliRunner().invoke(cli, ["demo", "--http", "203.0.113.1:80"])
    assert ended.exit_code == 1
    assert "error: every port of 203.0.113.1 is in use" in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_demo_ends_soon_and_cleans_up(demo, tmp_path, monkeypatch, number):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = demo("--rate", "50")
    process.eventually(lambda: process.metric("perceptron_predictions_total") > 0)
    process.signal(number)
    assert process.wait(patience(20)) == {signal.SIGINT: 130, signal.SIGTERM: 0}[number]
    assert "Traceback" not in process.stderr
    assert not list(tmp_path.glob("perceptron-demo-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_demo_with_keep_runs_until_a_signal(demo, number):
    process = demo(*FAST, "--keep")
    process.eventually(lambda: "; Ctrl-C ends it" in process.stderr)
    process.eventually(lambda: process.metric("perceptron_predictions_total") > 1250)
    assert process.get("/").headers["content-type"].startswith("text/html")
    process.signal(number)
    assert process.wait(patience(20)) == {signal.SIGINT: 130, signal.SIGTERM: 0}[number]
    assert "Traceback" not in process.stderr
