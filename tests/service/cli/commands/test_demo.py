"""`demo`: everything at once, with no arguments, to its end."""

import contextlib
import os
import re
import signal
import socket
import tempfile

import pytest
from click.testing import CliRunner
from river import datasets, linear_model, preprocessing

from perceptron_core import AutoClassifier
from service.cli.app import cli
from service.cli.story.streams import STREAMS, phishing
from tests.support.perceptron_process import PerceptronProcess
from tests.support.reference_streams import phishing_events, run_bare

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
        assert process.wait() == 0
        yield process


def test_it_ends_by_itself_with_a_summary_of_what_the_bare_model_does(finished):
    process = finished
    model = run_bare(phishing_events()).model
    figures = dict(re.findall(r"^(\w[\w ]*\w) {2,}([\d.,]+)$", process.stdout, re.MULTILINE))
    assert figures["events"] == figures["labelled"] == "1,250"
    assert figures["mistakes"] == str(model.n_mistakes)
    assert figures["updates"] == str(model.n_updates)
    assert figures["error rate"] == f"{model.n_mistakes / 1250:.4f}"
    assert figures["rejected"] == "1"
    assert f"bias {model.bias:+g}" in process.stdout
    largest = max(model.weights, key=lambda name: abs(model.weights[name]))
    assert f"{largest} " in process.stdout
    assert "where to look next" in process.stdout
    assert "Traceback" not in process.stderr


def test_rows_appear_as_the_events_double_and_no_control_characters(finished):
    process = finished
    found = [line.split() for line in process.stderr.splitlines() if re.match(r" +[\d,]+ +\d+ ", line)]
    assert [int(row[0].replace(",", "")) for row in found] == [*(2**n for n in range(11)), 1250]
    assert int(found[-1][1]) == run_bare(phishing_events()).model.n_mistakes
    assert "\x1b" not in process.stderr + process.stdout


def test_the_models_beside_it_predict_and_learn_the_same_events(finished):
    last = re.findall(r"^ +1,250 +\d+ +(\d+) +(\d+)$", finished.stderr, re.MULTILINE)
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    mistakes = 0
    for x, y in datasets.Phishing():
        mistakes += (model.predict_one(x) or False) != y
        model.learn_one(x, y)
    assert last == [(str(phishing_mistakes_of_auto()), str(mistakes))]


def phishing_mistakes_of_auto():
    model, mistakes = AutoClassifier(), 0
    for x, y in datasets.Phishing():
        mistakes += (model.predict_one(x) or False) != y
        model.learn_one(x, y)
    return mistakes


def test_it_is_killed_half_way_and_proves_that_nothing_was_lost_or_done_twice(finished):
    (killed,) = re.findall(r"^killed \(SIGKILL\) after ([\d,]+) predictions", finished.stderr, re.MULTILINE)
    assert 625 <= int(killed.replace(",", "")) < 1250
    assert "proved: " in finished.stderr
    assert ", 1,250 predictions" in finished.stderr


def test_a_record_that_is_no_event_is_shown_as_a_dead_letter(finished):
    assert "\n  invalid_json: " in finished.stderr


def test_metrics_are_served_while_it_runs_where_the_environment_says(demo):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    process = demo("--rate", "50", http=address)
    assert process.address == f"http://{address}"
    process.eventually(lambda: process.metric("perceptron_predictions_total") > 0)
    first = process.metric("perceptron_predictions_total")
    process.eventually(lambda: process.metric("perceptron_predictions_total") > first)
    assert process.get("/readyz").json()["state"] == "ready"
    assert process.metric("perceptron_mistakes_total") > 0
    assert f"metrics    {process.address}/metrics" in process.stderr


@pytest.mark.parametrize("data", ["sms-like", "drift"])
def test_other_data_is_shown_as_well(demo, data):
    process = demo("--data", data, "--rate", "20000")
    assert process.wait() == 0
    assert "proved: " in process.stderr
    assert "Traceback" not in process.stderr


def test_where_the_service_cannot_start_the_end_of_its_log_is_shown(demo):
    process = demo(http="0.0.0.0:0", http_hosts="a/b")
    assert process.wait() != 0


def test_another_port_is_taken_where_8000_is_in_use(finished):
    assert not finished.address.endswith(":8000")
    assert "1,250" in finished.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_demo_ends_soon_and_leaves_nothing_behind(demo, tmp_path, monkeypatch, number):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    process = demo("--rate", "50")
    process.eventually(lambda: process.metric("perceptron_predictions_total") > 0)
    process.signal(number)
    assert process.wait(20) == {signal.SIGINT: 130, signal.SIGTERM: 0}[number]
    assert "Traceback" not in process.stderr
    assert not list(tmp_path.glob("perceptron-demo-*"))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_kept_it_plays_on_with_its_page_up_until_it_is_told_to_end(demo, number):
    process = demo(*FAST, "--keep")
    process.eventually(lambda: "\nCtrl-C ends it." in process.stderr)
    assert "\nAll 1,250 are processed. They come again now, 20 a second: watch http://" in process.stderr
    assert "\\n" not in process.stderr
    at_first = process.metric("perceptron_predictions_total")
    process.eventually(lambda: process.metric("perceptron_predictions_total") > max(at_first, 1250))
    assert process.get("/").headers["content-type"].startswith("text/html")
    assert process.get("/state").json()["events"][0]["id"].endswith("-again-2")
    assert f"watch {process.address}" in process.stderr
    process.signal(number)
    assert process.wait(20) == {signal.SIGINT: 130, signal.SIGTERM: 0}[number]
    assert re.search(r"^mistakes +\d+$", process.stdout, re.MULTILINE)
    assert "Traceback" not in process.stderr


def test_the_address_of_the_page_is_told_first(finished):
    assert f"live page  {finished.address}\n" in finished.stderr


def test_a_signal_before_it_begins_leaves_no_folder(monkeypatch, tmp_path):
    stream = phishing()

    def interrupted():
        os.kill(os.getpid(), signal.SIGTERM)
        return stream

    monkeypatch.setitem(STREAMS, "phishing", interrupted)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = CliRunner().invoke(cli, ["demo"], env={"PERCEPTRON_HTTP": "127.0.0.1:0"})
    assert (ended.exit_code, list(tmp_path.iterdir())) == (0, [])
