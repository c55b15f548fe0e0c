"""HTML and mails are read in time that is linear in their length, whatever they contain."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.mapping.texts import decoded, mail_document, text_of_html
from tests.support.growth import assert_grows_linearly

HALF = 500_000


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("no tags at all", "no tags at all"),
        ("1 < 2 &lt; 3 &#8364;", "1 < 2 < 3 €"),
        (f"a&#{'1' * 4301};b", "a\ufffdb"),
        ("<STYLE>p {}</Style><td>a</td><td>b</td>", "a b"),
        ("a<!-- <b> -->b<!DOCTYPE html>", "a b"),
        ("a<script>never", "a"),
        ("a<b", "a"),
        ("<a href='x'>up</a>date", "update"),
    ],
)
def test_tags_comments_and_scripts_are_not_text(html, text):
    assert text_of_html(html) == text


@given(st.text("<>!-/ ab&;"))
def test_text_of_any_html_is_read(html):
    assert "  " not in text_of_html(html)


@pytest.mark.parametrize("piece", ["<", "<a", "<!--", "<script>", "</script", "&", "<b>", "&#x"])
def test_time_for_html_is_linear(piece):
    assert_grows_linearly(text_of_html, lambda size: piece * (size // len(piece)), HALF)


def test_unknown_charset_is_not_looked_up():
    asked = []

    def note(name):
        asked.append(name)

    codecs.register(note)
    try:
        document = mail_document(b"Subject: =?no-1?q?win?=\nContent-Type: text/plain; charset=no-2\n\nnow")
        assert (document["subject"], document["text"]) == ("win", "now")
        assert decoded("wín".encode("latin-1"), "ISO_8859-1") == "wín"
        with pytest.raises(LookupError):
            decoded(b"a", "no-3")
    finally:
        codecs.unregister(note)
    assert asked == []


def nested(levels, size):
    heads = (b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(levels))
    return b"".join(heads) + b"\n" * size


MULTIPART = b"Content-Type: multipart/mixed; boundary=b\n\n"
MAILS = {
    "a quote without an end": lambda size: b'Content-Type: text/plain; a="' + b";" * size + b"\n\n",
    "parameters": lambda size: b"Content-Type: text/plain" + b"; a*1*=b" * (size // 8) + b"\n\n",
    "a disposition": lambda size: b'Content-Disposition: attachment; a="' + b";" * size + b"\n\n",
    "a boundary": lambda size: b'Content-Type: multipart/mixed; boundary="' + b";" * size + b'"\n\n--',
    "a charset of host names": lambda size: b"Content-Type: text/plain; charset=punycode\n\na-" + b"9" * size,
    "encoded words": lambda size: b"Subject: " + b"=?punycode?q?a-9999?= " * (size // 22) + b"\n\n",
    "headers": lambda size: b"a: b\n" * (size // 5) + b"\n",
    "folded lines": lambda size: b"Subject: a\n" + b" b\n" * (size // 3) + b"\n",
    "addresses": lambda size: b"From: " + b"a@b.c, " * (size // 7) + b"\n\n",
    "comments in an address": lambda size: b"From: " + b"(" * size + b"\n\n",
    "a date": lambda size: b"Date: " + b"1 " * (size // 2) + b"\n\n",
    "lines": lambda size: b"Subject: a\n\n" + b"\n" * size,
    "levels": lambda size: nested(10, size),
    "parts": lambda size: MULTIPART + b"--b\n\na\n" * (size // 7),
    "heads of parts": lambda size: MULTIPART + (b"--b\n" + b"a: b\n" * (size // 500)) * 100,
    "almost boundaries": lambda size: MULTIPART + b"--b \t" * (size // 5),
    "base64": lambda size: b"Content-Transfer-Encoding: base64\n\n" + b"=\n" * (size // 2),
    "quoted-printable": lambda size: (
        b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=\n" * (size // 2)
    ),
    "uuencode": lambda size: b"Content-Transfer-Encoding: x-uuencode\n\nbegin 644 a\n" + b"M\n" * (size // 2),
}


@pytest.mark.parametrize("make", MAILS.values(), ids=MAILS)
def test_time_for_a_mail_is_linear(make):
    assert_grows_linearly(mail_document, make, HALF)


def test_parts_nested_too_deeply_are_rejected():
    with pytest.raises(ValueError, match="nested too deeply"):
        mail_document(nested(50, 10))


def test_only_the_first_of_many_mail_parts_are_read():
    parts = b"--b\nContent-Type: image/png\n\nx\n" * 1000
    found = mail_document(b"Subject: a\n" + MULTIPART + parts)
    assert (found["subject"], found["attachments"]) == ("a", ["image/png"] * 100)
    assert 1000 < len(mail_document(b"".join(b"h%d: x\n" % n for n in range(100_000)))["headers"]) < 10_000
