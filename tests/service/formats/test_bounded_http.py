import socket
import ssl
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError
from urllib.request import Request

import pytest
import trustme

from service.formats.bounded_http import bounded_opener

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + 1000 * b"x"


@contextmanager
def trickling(answer, n_at_once, pause_seconds=0.0, context=None):
    """Serve one request; yield the server's port."""
    stop = threading.Event()

    def serve(listener):
        connection, _ = listener.accept()
        try:
            with context.wrap_socket(connection, server_side=True) if context else connection as peer:
                peer.recv(10_000)
                for at in range(0, len(answer), n_at_once):
                    peer.sendall(answer[at : at + n_at_once])
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
def test_an_answer_that_trickles_ends_with_the_timeout(n_prompt):
    answer = ANSWER if n_prompt else b"HTTP/1.1 200 OK\r\n" + b"X-Y: z\r\n" * 90
    began = time.monotonic()
    with (
        trickling(answer, n_prompt or 1, 0.1 if n_prompt == 0 else 0.3) as port,
        pytest.raises(TimeoutError),
    ):
        ask(f"http://127.0.0.1:{port}/")
    assert 0.4 < time.monotonic() - began < 3.0


def test_an_answer_in_many_pieces_within_the_timeout_is_read_whole():
    with trickling(ANSWER, 100) as port:
        assert ask(f"http://127.0.0.1:{port}/", timeout=20.0) == 1000 * b"x"


def test_an_encrypted_answer_that_trickles_ends_with_the_timeout():
    authority = trustme.CA()
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(server)
    authority.configure_trust(client)
    with trickling(ANSWER, 50, 0.1, server) as port, pytest.raises(TimeoutError):
        ask(f"https://127.0.0.1:{port}/", timeout=0.8, context=client)


def test_an_authority_that_is_not_trusted_is_refused():
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(server)
    with trickling(ANSWER, 100, 0.0, server) as port, pytest.raises(URLError, match="CERTIFICATE"):
        ask(f"https://127.0.0.1:{port}/")


@contextmanager
def redirecting(where, pause_seconds=0.0):
    """Serve redirects; yield the server's port and the list of what was asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            time.sleep(pause_seconds)
            to = where(len(asked), self.server.server_port)
            with suppress(OSError):  # the client has left
                self.send_response(302 if to else 200)
                self.send_header("Location", to or "")
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server.server_port, asked
    server.shutdown()
    server.server_close()


def test_a_redirect_to_the_same_address_is_followed():
    with redirecting(lambda n, port: f"http://127.0.0.1:{port}/there" if n == 1 else None) as (port, asked):
        assert ask(f"http://127.0.0.1:{port}/", timeout=20.0) == b"{}"
    assert asked == ["/", "/there"]


@pytest.mark.parametrize(
    "place", ["http://localhost:{}/", "https://127.0.0.1:{}/", "ftp://127.0.0.1:{}/", "http://127.0.0.1:1/"]
)
def test_a_redirect_to_another_address_is_refused(place):
    with (
        redirecting(lambda _, port: place.format(port)) as (port, asked),
        pytest.raises(URLError, match="redirects to another address"),
    ):
        ask(f"http://127.0.0.1:{port}/", timeout=20.0)
    assert asked == ["/"]


@pytest.mark.parametrize("place", ["http://[", "http://127.0.0.1:99999999/"])
def test_a_redirect_to_no_address_is_an_error(place):
    with redirecting(lambda *_: place) as (port, _), pytest.raises((ValueError, OSError)):
        ask(f"http://127.0.0.1:{port}/", timeout=20.0)


def test_all_redirects_together_have_one_timeout():
    with redirecting(lambda n, _: f"/{n}", pause_seconds=0.2) as (port, asked), pytest.raises(TimeoutError):
        ask(f"http://127.0.0.1:{port}/", timeout=0.5)
    assert len(asked) < 5
