"""The doors of HTTP: the cost of whatever is sent is in proportion to its size; probes are answered."""

import json
import socket
import threading
from urllib.parse import urlsplit

import httpx
import pytest

from tests.service.building import event
from tests.service.mapping.test_texts import MAILS
from tests.service.web.stage import Stage
from tests.support.growth import assert_grows_linearly
from tests.support.speed import patience

HALF = 450_000
"""Bytes; twice as much is less than the default of `max_message_bytes`."""
HEAD = 30_000
NAMED = '"a": 1, '


@pytest.fixture(scope="module")
def taught():
    stage = Stage(model="auto")
    stage(event("a", "win money", label=True, n=1), event("b", "friend", label=False, n=2))
    with stage.served() as client:
        yield client


def of(piece, size):
    return piece * (size // len(piece))


def features(size, value):
    return "{" + ", ".join(f'"f{n}": {value}' for n in range(size // (len(value) + 11))) + "}"


JSON = {
    "text": lambda size: json.dumps(event("q", of("win ", size))),
    "one word": lambda size: json.dumps(event("q", of("w", size))),
    "different words": lambda size: json.dumps(event("q", " ".join(f"w{n}" for n in range(size // 8)))),
    "escapes": lambda size: f'{{"id": "q", "text": "{of(chr(92) + "u00e9", size)}"}}',
    "letters of other scripts": lambda size: json.dumps(event("q", of("字", size // 6))),
    "numbers": lambda size: f'{{"id": "q", "features": {features(size, "1.5")}}}',
    "categories": lambda size: f'{{"id": "q", "features": {features(size, chr(34) + "x" + chr(34))}}}',
    "one long name": lambda size: f'{{"id": "q", "features": {{"{of("f", size)}": 1}}}}',
    "one long number": lambda size: f'{{"id": "q", "features": {{"n": {of("9", size)}}}}}',
    "one name again and again": lambda size: f'{{"id": "q", "features": {{{of(NAMED, size)}"b": 1}}}}',
    "a long id": lambda size: json.dumps(event(of("i", size))),
    "deep lists": lambda size: of("[", size),
    "deep objects": lambda size: of('{"a":', size),
    "white space": lambda size: of(" ", size) + json.dumps(event("q")),
    "unknown fields": lambda size: json.dumps({f"x{n}": 1 for n in range(size // 12)}),
    "no JSON": lambda size: of("{", size // 2) + of("}", size // 2),
}


def post(client, path, content, media_type):
    response = client.post(path, content=content, headers={"Content-Type": media_type})
    assert response.status_code in {200, 202, 207, 400, 409, 413, 415, 422}, response.text


@pytest.mark.parametrize("path", ["/predict", "/explain", "/labels"])
@pytest.mark.parametrize("make", JSON.values(), ids=JSON)
def test_json_body_takes_linear_time(taught, path, make):
    assert_grows_linearly(
        lambda body: post(taught, path, body, "application/json"), lambda size: make(size).encode(), HALF
    )


LINES = {
    "empty lines": b"\n",
    "returns": b"\r\n",
    "short lines": b"1\n",
    "events": b'{"id": "q", "text": "win"}\n',
    "lines that are not JSON": b"[[[[\n",
}


@pytest.mark.parametrize("make", LINES.values(), ids=LINES)
def test_lines_take_linear_time(taught, make):
    assert_grows_linearly(
        lambda body: post(taught, "/labels", body, "application/x-ndjson"),
        lambda size: of(make, size)[:HALF],
        len(make) * 4_900,
    )


@pytest.mark.parametrize("make", MAILS.values(), ids=MAILS)
def test_mail_takes_linear_time(taught, make):
    assert_grows_linearly(lambda body: post(taught, "/predict", body, "message/rfc822"), make, HALF)


def send(client, sent, times=10):
    """Send bytes, a few times, each over a connection of its own: clients take long with odd heads."""
    url = urlsplit(str(client.base_url))
    for _ in range(times):
        with socket.create_connection((url.hostname, url.port), timeout=patience(60)) as connection:
            connection.sendall(sent)
            assert connection.recv(100).startswith(b"HTTP/1.1 ")


HEADS = {
    "parameters": lambda size: b'Content-Type: text/plain; a="' + of(b";", size),
    "quotes": lambda size: b"Content-Type: text/plain; a=" + of(b'"', size),
    "accepted types": lambda size: b"Accept: " + of(b"text/plain;q=0.1,", size),
    "encodings": lambda size: b"Content-Encoding: " + of(b"gzip,", size),
    "a token": lambda size: b"Authorization: Basic " + of(b"YTpi", size),
    "a host": lambda size: b"X: y\r\nHost: " + of(b":1", size),
    "ranges": lambda size: b"Range: bytes=" + of(b"0-0,", size) + b"1-1",
    "many": lambda size: b"\r\n".join(b"x-%d: 1" % n for n in range(size // 10)),
    "forwarded": lambda size: b"X-Forwarded-For: " + of(b"127.0.0.1, ", size),
    "cookies": lambda size: b"Cookie: " + of(b"a=b; ", size),
    "tags": lambda size: b"If-None-Match: " + of(b'"a", ', size),
}


@pytest.mark.parametrize("asked", [b"POST /predict", b"GET /metrics", b"GET /static/page.css"], ids=repr)
@pytest.mark.parametrize("make", HEADS.values(), ids=HEADS)
def test_long_header_takes_linear_time(taught, asked, make):
    start = asked + b" HTTP/1.1\r\nHost: localhost\r\n"
    assert_grows_linearly(lambda head: send(taught, start + head + b"\r\n\r\n"), make, HEAD)


@pytest.mark.parametrize("piece", [b"+win", b"%20", b"&a=b", b"&top=a", b";"], ids=repr)
def test_long_address_takes_linear_time(taught, piece):
    assert_grows_linearly(
        lambda asked: send(taught, b"GET /model?top=a" + asked + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        lambda size: of(piece, size),
        HEAD,
    )


@pytest.mark.parametrize("chunk", [1, 100])
def test_time_of_a_chunked_body_is_linear(taught, chunk):
    head = (
        b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )

    def chunks(size):
        return head + of(b"%x\r\n%b\r\n" % (chunk, b"[" * chunk), size) + b"0\r\n\r\n"

    assert_grows_linearly(lambda sent: send(taught, sent, times=1), chunks, HALF)


def test_probes_get_responses_while_the_worst_mail_is_read(taught, monkeypatch):
    """It is read by another thread than the one that responses."""
    reads, may_end = threading.Event(), threading.Event()

    def text_of(_):
        reads.set()
        assert may_end.wait(patience(30))
        return "win"

    monkeypatch.setattr("service.web.requests.text_of_mail", text_of)
    sending = threading.Thread(target=post, args=(taught, "/predict", b"Subject: a\n\n", "message/rfc822"))
    sending.start()
    try:
        assert reads.wait(patience(30))
        assert httpx.get(f"{taught.base_url}/livez", timeout=patience(30)).status_code == 200
    finally:
        may_end.set()
        sending.join()
