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
def test_without_the_token_nothing_is_shown(locked, path, wrong):
    answer = locked.get(path, headers=wrong)
    assert answer.status_code == 401
    assert {"Bearer", "Basic"} <= set(answer.headers["WWW-Authenticate"].replace(",", " ").split())
    assert answer.json().keys() == {"what", "where", "hint"}
    assert TOKEN not in answer.text


@pytest.mark.parametrize("right", [BEARER, BASIC])
def test_with_the_token_everything_is(locked, right):
    assert locked.get("/model", headers=right).status_code == 200
    assert locked.post("/predict", json=event("q"), headers=right).status_code == 200


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes_need_no_token(locked, path):
    assert locked.get(path).status_code == 200


def test_a_stranger_s_name_is_refused_where_only_this_machine_listens(client):
    """What a web page elsewhere would use, whose own name was made to point to 127.0.0.1."""
    answer = client.get("/state", headers={"Host": "rebound.example:8000"})
    assert (answer.status_code, answer.json()["where"]) == (421, "header Host")
    assert client.get("/state", headers={"Host": "LOCALHOST:8000"}).status_code == 200
    assert client.get("/livez", headers={"Host": "rebound.example"}).status_code == 200


REBOUND = {"Host": "evil.example:8000"}
"""What a web page sends to its own name after its owner has pointed that to the victim's address."""


@pytest.fixture(scope="module")
def open_to_others():
    with Stage(http="0.0.0.0:0", http_show_events="yes").served() as client:
        yield client


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/events"), ("POST", "/labels"), ("POST", "/explain"), ("GET", "/state"), ("GET", "/model")],
)
def test_a_rebound_name_neither_reads_nor_writes_where_others_may_listen(open_to_others, method, path):
    answer = open_to_others.request(method, path, json=event("e", label=True), headers=REBOUND)
    assert (answer.status_code, answer.json()["where"]) == (421, "header Host")
    assert "http_hosts" in answer.json()["hint"]


@pytest.mark.parametrize("host", ["localhost:8000", "192.0.2.7:8000", "[2001:db8::1]:8000", "192.0.2.7"])
def test_where_others_may_listen_addresses_are_answered_as_none_can_be_rebound(open_to_others, host):
    assert open_to_others.get("/state", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/metrics", "/livez", "/readyz"])
def test_where_others_may_listen_monitoring_is_answered_under_any_name(open_to_others, path):
    assert open_to_others.get(path, headers={"Host": "service-7.pods.example:8000"}).status_code == 200


@pytest.mark.parametrize("path", ["/events", "/labels"])
def test_nothing_is_written_where_others_may_listen_and_neither_names_nor_token_are_set(open_to_others, path):
    answer = open_to_others.post(path, json=event("e", label=True))
    assert answer.status_code == 403
    assert {"http_hosts", "http_token"} <= set(re.findall(r"\w+", answer.json()["hint"]))


@pytest.mark.parametrize(
    ("given", "headers"),
    [
        ({"http_token": TOKEN}, BEARER | {"Host": "perceptron.example"}),
        ({"http_hosts": "perceptron.example"}, {"Host": "Perceptron.Example:8000"}),
        ({"http_hosts": "::1"}, {"Host": "[::1]:8000"}),
    ],
)
def test_with_names_or_a_token_events_are_taken(given, headers):
    stage = Stage(http="0.0.0.0:0", **given)
    with stage.served() as client:
        assert client.post("/events", json=event("e"), headers=headers).status_code == 200
    assert len(stage.appended) == 1


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "perceptron.example.evil.example"])
def test_where_names_are_set_no_other_is_answered_with_or_without_the_token(host):
    with Stage(http_hosts="perceptron.example", http_token=TOKEN).served() as client:
        assert client.get("/state", headers=BEARER | {"Host": host}).status_code == 421


@pytest.mark.parametrize(("given", "is_offered"), [({}, False), ({"http_hosts": "localhost"}, True)])
def test_the_page_offers_to_teach_only_where_events_are_taken(given, is_offered):
    with Stage(http="0.0.0.0:0", **given).served() as client:
        assert client.get("/state", headers={"Host": "localhost"}).json()["teaches"] is is_offered


def test_a_body_over_the_limit_is_refused_however_it_comes():
    limit = 1000
    with Stage(max_message_bytes=limit).served() as client:
        kind = {"Content-Type": "application/json"}
        fits = json.dumps(event("q", "x" * 900)).encode().ljust(limit)
        assert client.post("/predict", content=fits, headers=kind).status_code == 200
        for body in (fits + b" ", iter([fits, b" "])):  # declared, and in chunks
            answer = client.post("/predict", content=body, headers=kind)
            assert answer.status_code == 413
            assert "max_message_bytes" in answer.json()["hint"]


def test_who_sends_all_of_a_large_body_before_it_listens_hears_why_it_was_refused():
    with Stage(max_message_bytes=1000).served() as client:
        for size in (1001, 2_000_000, 10_000_000):
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(f"{client.base_url}/predict", b"x" * size)
            assert refused.value.code == 413
            assert "max_message_bytes" in json.load(refused.value)["hint"]


@pytest.mark.parametrize(
    "head", [b"Content-Length: 9999999999", b"Content-Length: 2000\r\nExpect: 100-continue"]
)
def test_a_body_that_is_far_too_large_or_waits_to_be_asked_for_is_refused_unseen(head):
    with Stage(max_message_bytes=1000).served() as client:
        answer = said(client, b"POST /predict HTTP/1.1\r\nHost: localhost\r\n" + head + b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_without_end_is_refused_when_it_was_read_for_a_while(monkeypatch):
    monkeypatch.setattr(guard, "_DISCARDED_BYTES", 10_000)
    with Stage(max_message_bytes=1000).served() as client:
        head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        chunk = b"1000\r\n" + b"x" * 0x1000 + b"\r\n"
        assert said(client, head + 3 * chunk).startswith(b"HTTP/1.1 413 ")


def test_a_body_that_does_not_arrive_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("service.web.guard.BODY_SECONDS", 0.2)
    head = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
    with Stage().served() as client:
        assert said(client, head).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize(
    "start",
    [
        b"GET /livez?",
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: ",
        b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;",
    ],
    ids=["address", "header", "extension of a chunk"],
)
def test_a_head_without_end_is_refused(client, start):
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=5) as connection:
        connection.sendall(start)
        with pytest.raises(ConnectionError):  # long before the time for a head is over
            connection.sendall(b"x" * 50_000_000)


@pytest.mark.parametrize("address", [b"/\xff", b"/livez?\xff", b"/livez?a\x00", b"/predict?a b"])
def test_an_address_of_other_bytes_is_refused(client, address):
    answer = said(client, b"POST " + address + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2]).keys() == {"what", "where", "hint"}


@pytest.mark.parametrize("head", [b"", b"GET /livez HTTP/1.1\r\nHo"])
def test_who_connects_and_says_nothing_is_hung_up_on(monkeypatch, head):
    monkeypatch.setattr(server, "_REQUEST_SECONDS", 0.2)
    with Stage().served() as client:
        began = time.monotonic()
        assert said(client, head) == b""
        assert time.monotonic() - began < 5


def test_one_connection_may_ask_again_and_again(monkeypatch):
    monkeypatch.setattr(server, "_REQUEST_SECONDS", 0.3)
    with Stage().served() as client:
        for _ in range(4):
            assert client.get("/livez").status_code == 200
            time.sleep(0.2)


@pytest.mark.parametrize("path", ["/", "/model", "/metrics", "/livez", "/static/page.css", "/nowhere"])
def test_head_is_answered_as_get_without_the_body(client, path):
    whole, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (whole.status_code, b"")
    assert head.headers.keys() == whole.headers.keys()


def said(client: httpx.Client, request: bytes) -> bytes:
    """Send these bytes and no more; return all that comes back until the end of the connection."""
    with socket.create_connection((client.base_url.host, client.base_url.port), timeout=20) as connection:
        connection.sendall(request)
        answer = b""
        while more := connection.recv(65536):
            answer += more
        return answer


@pytest.mark.parametrize("path", ["/", "/docs", "/model", "/state", "/static/page.js", "/nowhere", "/livez"])
def test_a_browser_is_told_to_be_careful(client, path):
    headers = client.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == ("no-cache" if path.startswith(guard.STATIC) else "no-store")
    assert "server" not in headers
