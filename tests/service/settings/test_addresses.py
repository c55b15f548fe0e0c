"""An address is a host and a port, and some reach this machine alone."""

import pytest

from service.settings.forms import is_loopback, split_address


def test_an_address_has_host_and_port():
    assert split_address("localhost:0") == ("localhost", 0)


@pytest.mark.parametrize("address", ["localhost:1", "LOCALHOST:1", "127.0.0.1:8000", "[::1]:8000"])
def test_loopback_addresses_are_known(address):
    assert is_loopback(address)


@pytest.mark.parametrize("address", ["0.0.0.0:8000", "[::]:8000", "example.org:80"])
def test_addresses_that_others_reach_are_not_loopback(address):
    assert not is_loopback(address)
