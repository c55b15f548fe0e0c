import contextlib
import socket
import time

import httpx
import pytest

from service.errors import ServerError
from service.web import server
from tests.service.web.stage import Stage
from tests.support.speed import patience

DELAYED_ACK_SECONDS = 0.04


def test_taken_port_is_a_clear_error(stage):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(ServerError, match=f"cannot listen on 127.0.0.1:{port}") as error,
            stage.served(f"127.0.0.1:{port}"),
        ):
            pass
    assert "--http" in error.value.hint


def test_port_is_free_again_afterwards():
    with Stage().served() as client:
        address = f"{client.base_url.host}:{client.base_url.port}"
    with Stage().served(address):
        assert httpx.get(f"http://{address}/livez").status_code == 200


def test_responses_on_a_kept_connection_wait_for_no_acknowledgement(client):
    took = []
    for _ in range(60):  # the first ones are acknowledged at once, as TCP starts
        began = time.perf_counter()
        client.get("/model").raise_for_status()
        took.append(time.perf_counter() - began)
    assert min(took[-30:]) < DELAYED_ACK_SECONDS / 2


@pytest.fixture
def dial(client):
    """Open connections that are closed at the end."""
    with contextlib.ExitStack() as stack:

        def dial(receive_bytes=None):
            dialled = stack.enter_context(socket.socket())
            if receive_bytes:
                dialled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            dialled.settimeout(5)
            dialled.connect((client.base_url.host, client.base_url.port))
            return dialled

        yield dial


def request(dialled, path, headers=""):
    dialled.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n".encode())


SLOW = {
    "silent": b"",
    "slow head": b"GET /model HTTP/1.1\r\nHost:",
    "slow body": b"POST /predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{",
}


@pytest.mark.parametrize("sent", SLOW.values(), ids=SLOW)
@pytest.mark.parametrize("count", [200, 300])
def test_monitoring_responds_though_slow_clients_hold_all_connections(client, dial, sent, count):
    for _ in range(count):
        dial().sendall(sent)
    for probe in ("/livez", "/readyz"):
        assert client.get(probe, timeout=patience(5)).json()["state"]
    assert client.get("/metrics", timeout=patience(5)).status_code == 200


def is_closed(dialled):
    dialled.setblocking(False)
    try:
        return dialled.recv(1) == b""
    except ConnectionResetError:
        return True
    except BlockingIOError:
        return False


def test_probe_gets_a_response_while_all_connections_are_busy(dial, monkeypatch):
    """The oldest connection is closed for it, though it has sent nothing yet when it is accepted."""
    monkeypatch.setattr(server, "_PROBE_CONNECTIONS", 100 - server._MAX_CONNECTIONS)
    opened = []
    for count in (3, 97):
        opened += [dial() for _ in range(count)]
        for each in opened[-count:]:
            each.sendall(SLOW["slow body"])
        time.sleep(0.5)  # all that was sent has been read
    for _ in range(3):
        probe = dial()
        request(probe, "/livez")
        assert probe.recv(1000).startswith(b"HTTP/1.1 200")
    assert [place for place, each in enumerate(opened) if is_closed(each)] == [0, 1, 2]


def test_requests_get_503_when_all_connections_are_held(client, dial):
    for _ in range(200):
        dial()
    assert client.get("/livez").status_code == 200
    response = client.get("/model")
    assert (response.status_code, response.json()["where"]) == (503, "connection")
    assert response.headers["Retry-After"]


def test_non_reading_client_is_disconnected(monkeypatch, dial):
    monkeypatch.setattr(server, "_CHECK_SECONDS", 0.1)
    monkeypatch.setattr(server, "_RESPONSE_SECONDS", 0.5)
    closed = []
    lost = server._Protocol.connection_lost
    monkeypatch.setattr(
        server._Protocol,
        "connection_lost",
        lambda protocol, error: (closed.append(protocol), lost(protocol, error)),
    )
    dialled = dial(receive_bytes=4096)
    with contextlib.suppress(OSError):  # pipelined: many responses are to be written, none is read
        for _ in range(500):
            request(dialled, "/openapi.json")
    deadline = time.monotonic() + patience(10)
    while not closed and time.monotonic() < deadline:
        time.sleep(0.05)
    assert closed


def response_to(dialled, *parts):
    dialled.sendall(b"\r\n".join(part.encode() for part in parts) + b"\r\n\r\n")
    return dialled.recv(10_000).decode()


CHUNKED = ("Content-Type: application/json", "Transfer-Encoding: chunked", "", "2", "{}", "0")


@pytest.mark.parametrize(
    ("head", "trailer", "status"),
    [
        (("Host: localhost",), "Authorization: Bearer secret", 401),
        (("Host: elsewhere.example",), "Host: localhost", 421),
        (("Host: localhost", "Authorization: Bearer secret"), "Host: elsewhere.example", 422),
    ],
)
def test_trailers_are_not_headers(dial_locked, head, trailer, status):
    response = response_to(dial_locked, "POST /predict HTTP/1.1", *head, *CHUNKED, trailer)
    assert response.startswith(f"HTTP/1.1 {status} ")


def test_request_with_two_host_headers_is_rejected(dial):
    response = response_to(dial(), "GET /model HTTP/1.1", "Host: localhost", "host: localhost")
    assert response.startswith("HTTP/1.1 400 ")
    assert "Host" in response.partition("\r\n\r\n")[2]


@pytest.fixture
def dial_locked():
    """Open a connection to a server that asks for a token."""
    with (
        Stage(http_token="secret", http_hosts=("localhost",)).served(Host="localhost") as client,
        socket.create_connection(
            (client.base_url.host, client.base_url.port), timeout=patience(5)
        ) as dialled,
    ):
        yield dialled
