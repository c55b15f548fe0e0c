"""Bare texts and mails are asked about, as `curl` and a mail server send them."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.service.building import event
from tests.service.web.stage import Stage

MAIL = Path(__file__).with_name("mail.eml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def taught():
    stage = Stage()
    stage(event("a", "win money", label=True))
    stage(event("b", "friend", label=False))
    with stage.served() as client:
        yield client


def asked(client, text):
    return client.post("/predict", json=event("-", text)).json()


@pytest.mark.parametrize(
    ("content", "media_type", "text"),
    [
        ("win money", "text/plain", "win money"),
        ("wín".encode("latin-1"), "text/plain; charset=latin-1", "wín"),
        (MAIL, "message/rfc822", "Wín money\nnow friend"),  # its subject and its plain text
    ],
)
def test_text_or_mail_is_predicted_as_an_event(taught, content, media_type, text):
    answer = taught.post("/predict", content=content, headers={"Content-Type": media_type})
    assert answer.json() == asked(taught, text)


@pytest.mark.parametrize("charset", ["utf-8", "no-such-one"])
def test_a_text_that_cannot_be_read_is_refused(taught, charset):
    headers = {"Content-Type": f"text/plain; charset={charset}"}
    answer = taught.post("/predict", content=b"\xff", headers=headers)
    assert (answer.status_code, answer.json()["reason"]) == (422, "invalid_data")


@given(mail=st.binary(max_size=300))
def test_whatever_is_sent_as_a_mail_is_answered(taught, mail):
    answer = taught.post("/predict", content=mail, headers={"Content-Type": "message/rfc822"})
    assert answer.status_code == 200
