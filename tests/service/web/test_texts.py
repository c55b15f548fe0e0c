"""Mails are asked about, as a mail server sends them."""

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


def test_a_mail_is_answered_as_its_subject_and_text(taught):
    answer = taught.post("/predict", content=MAIL, headers={"Content-Type": "message/rfc822"})
    assert answer.json() == taught.post("/predict", json=event("-", "Wín money\nnow friend")).json()


@given(mail=st.binary(max_size=300))
def test_whatever_is_sent_as_a_mail_is_answered(taught, mail):
    answer = taught.post("/predict", content=mail, headers={"Content-Type": "message/rfc822"})
    assert answer.status_code == 200
