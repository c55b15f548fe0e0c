import contextlib
import socket
import time
from statistics import median

import httpx
import pytest

from service.errors import ServerError
from tests.service.web.stage import Stage

DELAYED_ACK_SECONDS = 0.04


def test_a_port_that_is_taken_is_a_clear_error(stage):
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(ServerError, match=f"cannot listen on 127.0.0.1:{port}") as error,
            stage.served(f"127.0.0.1:{port}"),
        ):
            pass
    assert "--http" in error.value.hint


def test_the_port_is_free_again_afterwards():
    with Stage().served() as client:
        address = f"{client.base_url.host}:{client.base_url.port}"
    with Stage().served(address):
        assert httpx.get(f"http://{address}/livez").status_code == 200


def test_answers_on_a_connection_that_stays_wait_for_no_acknowledgement(client):
    took = []
    for _ in range(60):  # the first ones are acknowledged at once, as TCP starts
        began = time.perf_counter()
        client.get("/model").raise_for_status()
        took.append(time.perf_counter() - began)
    assert median(took[-30:]) < DELAYED_ACK_SECONDS / 2
