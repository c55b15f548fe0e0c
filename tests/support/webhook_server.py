"""A receiver of webhooks that behaves as asked: accepts, fails, hangs up, is slow, sends elsewhere."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class WebhookServer:
    """Responds to each POST with what `respond(number of the request)` returns: a status, bytes,
    "drop" or "slow".

    Attributes
    ----------
    asked, accepted : list
        Headers and bodies of all requests, and of those that were answered 200.

    """

    def __init__(self, respond=lambda number: 200, slow_seconds=1.0):
        self.respond = respond
        self.asked, self.accepted = [], []
        self.max_at_once = self._at_once = 0
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with server._lock:
                    headers = {name.lower(): value for name, value in self.headers.items()}
                    server.asked.append((headers, body))
                    said = server.respond(len(server.asked))
                    server._at_once += 1
                    server.max_at_once = max(server.max_at_once, server._at_once)
                if said == "slow":
                    time.sleep(slow_seconds)
                with server._lock:
                    server._at_once -= 1
                    if said == 200:
                        server.accepted.append((headers, body))
                if said == "drop":
                    self.connection.close()
                    return
                if isinstance(said, bytes):
                    self.wfile.write(said)
                    return
                self.send_response(200 if said == "slow" else said)
                if said in {301, 302, 307}:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self):
                server.asked.append(("GET", self.path))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/services/a-token"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def ids(self):
        """Return the ids of the alerts that were accepted."""
        return sorted(headers["webhook-id"] for headers, _ in self.accepted)
