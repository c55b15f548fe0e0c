import socket
import ssl
import threading
import time
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import Request

import pytest
import trustme

from service.formats.bounded_http import bounded_opener

RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + 1000 * b"x"


@contextmanager
def trickling(response, n_at_once, pause_seconds=0.0, context=None):
    """Serve one request; yield the server's port."""
    stop = threading.Event()

    def serve(listener):
        connection, _ = listener.accept()
        try:
            with context.wrap_socket(connection, server_side=True) if context else connection as peer:
                peer.recv(10_000)
                for at in range(0, len(response), n_at_once):
                    peer.sendall(response[at : at + n_at_once])
                    if stop.wait(pause_seconds):
                        return
        except OSError:
            return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield listener.getsockname()[1]
        stop.set()
        thread.join()


def ask(url, timeout=0.5, context=None):
    opener = bounded_opener(context or ssl.create_default_context())
    with opener.open(Request(url), timeout=timeout) as response:
        return response.read()


@pytest.mark.parametrize("n_prompt", [0, 41, 500], ids=["from the first byte", "in the body", "later"])
def test_trickling_response_ends_at_the_timeout(n_prompt):
    response = RESPONSE if n_prompt else b"HTTP/1.1 200 OK\r\n" + b"X-Y: z\r\n" * 90
    began = time.monotonic()
    with (
        trickling(response, n_prompt or 1, 0.1 if n_prompt == 0 else 0.3) as port,
        pytest.raises(TimeoutError),
    ):
        ask(f"http://127.0.0.1:{port}/")
    assert 0.4 < time.monotonic() - began < 3.0


def test_fragmented_response_within_the_timeout_is_read():
    with trickling(RESPONSE, 100) as port:
        assert ask(f"http://127.0.0.1:{port}/", timeout=20.0) == 1000 * b"x"


def test_trickling_encrypted_response_ends_at_the_timeout():
    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(server)
    authority.configure_trust(client)
    with trickling(RESPONSE, 50, 0.1, server) as port, pytest.raises(TimeoutError):
        ask(f"https://127.0.0.1:{port}/", timeout=0.8, context=client)


def test_redirect_is_an_error():
    response = b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
    with trickling(response, 1000) as port, pytest.raises(HTTPError, match="302"):
        ask(f"http://127.0.0.1:{port}/", timeout=20.0)
