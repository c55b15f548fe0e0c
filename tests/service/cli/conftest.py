"""Runs the command line within this process, in an empty folder and without settings from outside."""

import json
import os
from contextlib import closing

import pytest
from click.testing import CliRunner

from service.cli.app import cli
from service.stream.opening import open_transport
from tests.support.reference_streams import phishing_events


@pytest.fixture(autouse=True)
def empty_surroundings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("PERCEPTRON_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def perceptron():
    """Run `perceptron` with arguments; stdout, stderr and exit code are in the result."""

    def run(*arguments, stdin=None):
        result = CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run


@pytest.fixture
def summary(perceptron):
    """Run a command with `--format json`; return what it prints."""

    def run(*arguments, stdin=None):
        result = perceptron(*arguments, "--format", "json", stdin=stdin)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return run


@pytest.fixture
def broker(tmp_path):
    """Return the URL of a stream of one's own."""
    return f"sqlite:///{tmp_path}/stream.db"


@pytest.fixture
def texts(tmp_path):
    """Write texts of two classes that a few words tell apart; return the file."""
    words = {"ham": "see you at noon my friend", "spam": "win a big prize now friend"}
    path = tmp_path / "texts.tsv"
    path.write_text("".join(f"{label}\t{words[label][n % 9 :]}\n" for n in range(40) for label in words))
    return path


@pytest.fixture
def pages(tmp_path):
    """Write River's phishing pages; return the file."""
    path = tmp_path / "pages.ndjson"
    path.write_bytes(b"".join(event + b"\n" for event in phishing_events()))
    return path


@pytest.fixture
def opened(broker):
    """Return the function that opens the stream, with topics: the partitions by name."""
    with closing(open_transport(broker)) as transport:

        def opened(topics):
            transport.ensure_topics(topics)
            return transport

        yield opened
