"""The recipes of the guides work with a running service: mail filters, a pipe, a webhook."""

import hashlib
import hmac
import json
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.documents import ROOT, blocks
from tests.support.perceptron_process import DEADLINE_SECONDS, PerceptronProcess

MAIL = "Message-ID: <1@x.org>\nFrom: a@x.org\nSubject: win a prize\n\nwin cash now\n"
HAM = "Message-ID: <2@x.org>\nFrom: b@x.org\nSubject: lunch\n\nsee you at noon\n"
SHOWN_ADDRESS = "http://127.0.0.1:8000"
SERVE = [
    "serve",
    "--broker",
    "sqlite:///stream.db",
    "--classes",
    "ham,spam",
    "--http",
    "127.0.0.1:0",
    "--create-topics",
    "all",
]
pytestmark = pytest.mark.slow


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.fixture(scope="module")
def recipes(tmp_path_factory):
    """Write the guides' files, for a service that has learned mails of each class; return their folder."""
    folder = tmp_path_factory.mktemp("recipes")
    with PerceptronProcess(*SERVE, folder=folder) as service:
        for guide in ("mail-filters", "moderation"):
            for block in blocks(ROOT / f"docs/guides/migrate/{guide}.md"):
                if block.mark.startswith("file: "):
                    place = folder / block.mark.removeprefix("file: ")
                    place.write_text(block.code.replace(SHOWN_ADDRESS, service.ready().address))
        teach = runpy.run_path(str(folder / "teach.py"))["teach"]
        for mail, label in [(MAIL, "spam"), (HAM, "ham"), (f"{MAIL}again", "spam")]:
            teach(mail.encode(), label)
        yield folder


def run(*command, given):
    return subprocess.run(
        command, input=given, capture_output=True, text=True, check=True, timeout=DEADLINE_SECONDS
    ).stdout


@needs("curl")
def test_pipe_adds_a_header_and_keeps_the_mail(recipes):
    header, _, rest = run("sh", recipes / "add-header", given=MAIL).partition("\n")
    assert json.loads(header.removeprefix("X-Perceptron: "))["label"] == "spam"
    assert rest == MAIL


def test_post_becomes_an_event_and_its_decision_a_label(recipes):
    receiver = runpy.run_path(str(recipes / "receiver.py"))
    account = {"followers_count": 3, "statuses_count": 1, "bot": False}
    post = {"id": "77", "content": "<p>win <a href=x>cash</a></p>", "account": account}
    created = {"event": "status.created", "object": {**post, "in_reply_to_id": None}}
    ((path, event),) = receiver["records"](created)
    assert receiver["send"](path, event)["label"] == "spam"
    decided = {"action_taken": True, "category": "spam", "statuses": [{"id": "77"}]}
    labels = receiver["records"]({"event": "report.updated", "object": decided})
    assert labels == [("/labels", {"id": "77", "label": True})]


def test_message_with_a_wrong_signature_is_rejected(recipes, monkeypatch):
    monkeypatch.setenv("WEBHOOK_SECRET", "secret")
    is_genuine = runpy.run_path(str(Path(recipes, "receiver.py")))["is_genuine"]
    signed = f"sha256={hmac.new(b'secret', b'{}', hashlib.sha256).hexdigest()}"
    assert is_genuine(b"{}", signed)
    assert not is_genuine(b"{ }", signed)
