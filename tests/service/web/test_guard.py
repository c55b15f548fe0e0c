"""Who may ask, how much, how slowly: over real connections."""

import base64
import json
import re
import socket
import time
import urllib.error
import urllib.request

import httpx
import pytest

from service.web import guard, server
from tests.service.building import event
from tests.service.web.stage import Stage
from tests.support.speed import patience

TOKEN = "correct horse"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
BASIC = {"Authorization": "Basic " + base64.b64encode(f"anybody:{TOKEN}".encode()).decode()}


@pytest.fixture(scope="module")
def locked():
    with Stage(http_token=TOKEN).served() as client:
        yield client


@pytest.fixture(scope="module")
def client():
    with Stage().served() as client:
        yield client


@pytest.mark.parametrize(
    "path", ["/", "/docs", "/openapi.json", "/model", "/state", "/metrics", "/static/page.css"]
)
@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"Authorization": "Bearer correct"},
        {"Authorization": f"Token {TOKEN}"},
        {"Authorization": "Basic !"},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer \xe9".encode("latin-1")},
    ],
)
def test_missing_token_hides_everything(locked, path, wrong):
    response = locked.get(path, headers=wrong)
    assert response.status_code == 401
    assert {"Bearer", "Basic"} <= set(response.headers["WWW-Authenticate"].replace(",", " ").split())
    assert response.json().keys() == {"what", "where", "hint"}
    assert TOKEN not in response.text


@pytest.mark.parametrize("right", [BEARER, BASIC])
def test_token_grants_access(locked, right):
    assert locked.get("/model", headers=right).status_code == 200
    assert locked.post("/predict", json=event("q"), headers=right).status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes_need_no_token(locked, path):
    assert locked.get(path).status_code == 200


OTHERS = {"http": "0.0.0.0:0", "http_show_events": "yes"}
NAMED = OTHERS | {"http_hosts": "perceptron.example"}
LOCKED = NAMED | {"http_token": TOKEN}
REBOUND = "evil.example:8000"
"""What a web page sends to its own name after its owner has pointed that to the victim's address."""
ASKED = [
    ({}, REBOUND, 421, ["GET /state"]),
    ({}, "LOCALHOST:8000", 200, ["GET /state"]),
    ({}, REBOUND, 200, ["GET /livez"]),
    (OTHERS, REBOUND, 421, ["POST /events", "POST /labels", "POST /explain", "GET /state", "GET /model"]),
    *((OTHERS, host, 200, ["GET /state"]) for host in ("localhost:8000", "192.0.2.7:8000", "192.0.2.7")),
    (OTHERS, "[2001:db8::1]:8000", 200, ["GET /state"]),
    (OTHERS, "service-7.pods.example:8000", 200, ["GET /metrics", "GET /livez", "GET /readyz"]),
    (OTHERS, "localhost", 403, ["POST /events", "POST /labels"]),  # neither names nor a token are set
    (OTHERS | {"http_token": TOKEN}, "perceptron.example", 200, ["POST /events"]),
    (NAMED, "Perceptron.Example:8000", 200, ["POST /events"]),
    (OTHERS | {"http_hosts": "::1"}, "[::1]:8000", 200, ["POST /events"]),
    *(
        (LOCKED, host, 421, ["GET /state"])
        for host in (REBOUND, "127.0.0.1", "perceptron.example.evil.example")
    ),
]


@pytest.mark.parametrize(("given", "host", "status", "requests"), ASKED)
def test_host_name_is_allowed_only_if_it_cannot_be_rebound(given, host, status, requests):
    stage = Stage(**given)
    with stage.served() as client:
        for method, path in map(str.split, requests):
            response = client.request(
                method, path, json=event("e", label=True), headers=BEARER | {"Host": host}
            )
            assert response.status_code == status
            if status == 421:
                assert (response.json()["where"], "http_hosts" in response.json()["hint"]) == (
                    "header Host",
                    True,
                )
            if status == 403:
                assert {"http_hosts", "http_token"} <= set(re.findall(r"\w+", response.json()["hint"]))
    assert len(stage.appended) == (status == 200 and "POST /events" in requests)


def test_body_over_the_limit_is_rejected_with_or_without_length():
    limit = 1000
    with Stage(max_message_bytes=limit).served() as client:
        kind = {"Content-Type": "application/json"}
        fits = json.dumps(event("q", "x" * 900)).encode().ljust(limit)
        assert client.post("/predict", content=fits, headers=kind).status_code == 200
        for body in (fits + b" ", iter([fits, b" "])):  # declared, and in chunks
            response = client.post("/predict", content=body, headers=kind)
            assert response.status_code == 413
            assert "max_message_bytes" in response.json()["hint"]


def test_client_that_sends_a_too_large_body_reads_the_problem():
    with Stage(max_message_bytes=1000).served() as client:
        for size in (1001, 2_000_000, 10_000_000):
            with pytest.raises(urllib.error.HTTPError) as rejected:
                urllib.request.urlopen(f"{client.base_url}/predict", b"x" * size)
            assert rejected.value.code == 413
            assert "max_message_bytes" in json.load(rejected.value)["hint"]


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"Content-Length: 9999999999\r\n\r\n", b"413"),
        (b"Content-Length: 2000\r\nExpect: 100-continue\r\n\r\n", b"413"),
        (b"Transfer-Encoding: chunked\r\n\r\n" + 3 * (b"1000\r\n" + b"x" * 0x1000 + b"\r\n"), b"413"),
        (b"Content-Length: 9\r\n\r\n{", b"408"),
    ],
    ids=["far too large", "waits to be asked for", "without end", "does not arrive"],
)
def test_body_is_rejected_before_reading_or_after_a_timeout(monkeypatch, head, status):
    monkeypatch.setattr(guard, "_DISCARDED_BYTES", 10_000)
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.2)
    with Stage(max_message_bytes=1000).served() as client:
        response = said(client, b"POST /predict HTTP/1.1\r\nHost: localhost\r\n" + head)
        assert response.startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize(
    "start",
    [
        b"GET /livez?",
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;",
    ],
    ids=["address", "header", "extension of a chunk"],
)
def test_endless_header_is_rejected(client, start):
    with socket.create_connection(
        (client.base_url.host, client.base_url.port), timeout=patience(5)
    ) as connection:
        connection.sendall(start)
        with pytest.raises(ConnectionError):  # long before the time for a head is over
            connection.sendall(b"x" * 50_000_000)


@pytest.mark.parametrize("address", [b"/\xff", b"/livez?\xff", b"/livez?a\x00", b"/predict?a b"])
def test_invalid_bytes_in_a_path_are_rejected(client, address):
    response = said(client, b"POST " + address + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert response.startswith(b"HTTP/1.1 400 ")
    assert json.loads(response.partition(b"\r\n\r\n")[2]).keys() == {"what", "where", "hint"}


@pytest.mark.parametrize("head", [b"", b"GET /livez HTTP/1.1\r\nHo"])
def test_silent_connection_is_closed(monkeypatch, head):
    monkeypatch.setattr(server, "_REQUEST_SECONDS", 0.2)
    with Stage().served() as client:
        began = time.monotonic()
        assert said(client, head) == b""
        assert time.monotonic() - began < 5


def test_connection_may_send_several_requests(monkeypatch):
    monkeypatch.setattr(server, "_REQUEST_SECONDS", 0.3)
    with Stage().served() as client:
        for _ in range(4):
            assert client.get("/livez").status_code == 200
            time.sleep(0.2)


@pytest.mark.parametrize("path", ["/", "/model", "/metrics", "/livez", "/static/page.css", "/nowhere"])
def test_head_response_equals_get_without_the_body(client, path):
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers.keys() == whole.headers.keys()


def said(client: httpx.Client, request: bytes) -> bytes:
    """Send these bytes and no more; return all that comes back until the end of the connection."""
    with socket.create_connection(
        (client.base_url.host, client.base_url.port), timeout=patience(20)
    ) as connection:
        connection.sendall(request)
        response = b""
        while more := connection.recv(65536):
            response += more
        return response


@pytest.mark.parametrize("path", ["/", "/docs", "/model", "/state", "/static/page.js", "/nowhere", "/livez"])
def test_every_response_has_security_headers(client, path):
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == ("no-cache" if path.startswith(guard.STATIC) else "no-store")
    assert "server" not in headers
