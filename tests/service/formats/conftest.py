import pytest

from tests.support.schema_registry import SchemaRegistryServer


@pytest.fixture
def registry():
    with SchemaRegistryServer() as server:
        yield server
