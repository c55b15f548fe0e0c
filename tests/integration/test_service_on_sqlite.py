"""The whole service on one SQLite file: no server, several processes."""

import pytest

from tests.integration.claims import ServiceClaims
from tests.integration.format_claims import FormatClaims


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/stream.db"


class TestServiceOnSqlite(ServiceClaims):
    """Everything `serve` promises, on SQLite."""


class TestFormatsOnSqlite(FormatClaims):
    """Records with schemas, on SQLite."""
