"""Mailboxes and mails become events, whose text is subject and body, or documents."""

import json
from pathlib import Path

import pytest

from service.errors import InputFileError
from service.files.rows import BadRow
from service.settings.mapping import EventSettings

ANN = Path(__file__).with_name("ann.mbox").read_bytes()
WIN = Path(__file__).with_name("win.mbox").read_bytes()


@pytest.fixture
def messages(messages):
    return lambda content, name="x.mbox", **options: messages(name, content, **options)


def test_each_mail_of_a_mailbox_is_an_event(messages):
    ann, win = messages(ANN + WIN, label="X-Spam-Flag", classes=("NO", "YES"), time="date")
    assert json.loads(ann) == {
        "id": "1@x.org",
        "text": "Grüße\nHello\n\nFrom the start it was good.\nSo it was.\n\n",
        "label": "NO",
    }
    assert ann.time == "2026-11-23T09:00:00+00:00"
    assert json.loads(win).items() >= {"id": "row-2", "text": "Win\nWin prizes", "label": "YES"}.items()


def test_unreadable_date_is_kept_with_an_error(messages):
    (mail,) = messages(b"From x Mon\nDate: soon\nSubject: a\n\nb\n", time="date")
    assert mail.time == "soon"


def test_mailbox_may_be_mapped(messages):
    mapping = EventSettings(id="@offset", label="headers.\"x-spam-flag\" == 'YES'", text=("html",))
    win = json.loads(messages(WIN, mapping=mapping)[0])
    assert (win["html"][:7], win["headers"]["x-spam-flag"]) == ("<p>Win ", "YES")


def test_file_may_be_one_mail(messages):
    (mail,) = messages(ANN.partition(b"\n")[2], "x.eml")
    assert json.loads(mail)["id"] == "1@x.org"


def test_attachments_are_represented_by_type_only(messages):
    parts = b"--b\nContent-Type: text/plain\n\nsee it\n--b\nContent-Type: image/png\n"
    attached = parts + b"Content-Transfer-Encoding: base64\n\nQUJD\n--b--\n\n"
    head = b"From x Mon\nSubject: a\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n"
    first, second = messages(head + attached + WIN)
    mapped, _ = messages(head + attached + WIN, mapping=EventSettings(text=("text",)))
    found, mapped = (json.loads(each) for each in (first, mapped))
    assert (found["text"], json.loads(second)["text"]) == ("a\nsee it", "Win\nWin prizes")
    assert (mapped["id"], mapped["attachments"]) == ("row-1", ["image/png"])


@pytest.mark.parametrize(
    "broken",
    [
        b"From: \xff<broken@@\nSubject: =?utf-99?q?=FF?= \xe4\nContent-Type: text/plain; charset=no\n\n\xff",
        b"Content-Type: text/plain\nContent-Transfer-Encoding: base64\n\n!!!not\xff",
        b"Content-Type: multipart/mixed; boundary=\n\nunfinished",
        b"Content-Type: text/plain; charset*=bad'x\nDate: yesterday\nContent-Disposition: ;;=\n\nx",
        b"Subject: =?utf-8?b?////=====?=\n\n",
    ],
)
def test_readable_parts_of_broken_mails_are_read(messages, broken):
    broken_one, next_one = messages(b"From x Mon\n" + broken + b"\n\n" + WIN)
    assert json.loads(broken_one)["id"] == "row-1"
    assert json.loads(next_one)["text"] == "Win\nWin prizes"


def test_deeply_nested_or_too_long_mail_is_a_bad_row(messages, monkeypatch):
    nested = b"".join(b"Content-Type: multipart/mixed; boundary=%d\n\n--%d\n" % (n, n) for n in range(2000))
    assert isinstance(messages(nested, "x.eml")[0], BadRow)
    monkeypatch.setattr("service.files.mails.MAX_MAIL_BYTES", 100)
    long, short = messages(ANN + b"From x Mon\nSubject: a\n\nb\n")
    assert (isinstance(long, BadRow), json.loads(short)["text"]) == (True, "a\nb\n")


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("behind", [b"", b"\n", b"\nbye\n"])
def test_from_line_without_following_header_is_text(messages, behind, end):
    mails = b"From x Mon\nSubject: a\n\nHello\n\nFrom now on\n" + behind + b"\n" + WIN
    first, second = messages(mails.replace(b"\n", end))
    assert json.loads(first)["text"].split() == ["a", "Hello", "From", "now", "on", *behind.decode().split()]
    assert json.loads(second)["text"] == "Win\nWin prizes"


@pytest.mark.parametrize("content", [b"Subject: a\n\nb\n", b"From x Mon\n\nb\n", b"From x Mon\n"])
def test_non_mailbox_file_is_rejected(messages, content):
    with pytest.raises(InputFileError, match="not a mailbox"):
        messages(content)
