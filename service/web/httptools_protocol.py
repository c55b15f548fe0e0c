"""uvicorn's protocol on httptools, which reads HTTP in C."""

from __future__ import annotations

from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MOST_HEAD_BYTES: Final = 65_536
"""Of a request without its body: as h11 has it; httptools would read any."""


class BoundedProtocol(HttpToolsProtocol):
    """The same, bounded as h11 bounds itself: heads, chunk sizes and trailers, and the bytes of addresses."""

    _unread_bytes = 0
    """Received since the end of a head, or since a piece of a body."""

    def data_received(self, data: bytes) -> None:
        """Read what has come; refuse more of a head than is taken."""
        self._unread_bytes += len(data)
        super().data_received(data)
        if self._unread_bytes > _MOST_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response("Invalid HTTP request received.")

    def on_url(self, url: bytes) -> None:
        """Note a part of the address."""
        if not url.isascii():
            raise ValueError("bytes that an address may not have")
        super().on_url(url)

    def on_headers_complete(self) -> None:
        """Begin a request."""
        self._unread_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note a piece of a body."""
        self._unread_bytes = 0
        super().on_body(body)
