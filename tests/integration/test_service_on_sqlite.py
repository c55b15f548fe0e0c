"""The whole service on one SQLite file: no server, several processes."""

import pytest

from tests.integration.claims import ServiceClaims


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/stream.db"


class TestServiceOnSqlite(ServiceClaims):
    """Everything `serve` promises, on SQLite."""
