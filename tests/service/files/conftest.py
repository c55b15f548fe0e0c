import pytest

from tests.service.files.opened import opened


@pytest.fixture
def messages(tmp_path):
    """Write a file; return its messages."""

    def read(name, content, **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        with opened(path, **options) as source:
            return list(source)

    return read
