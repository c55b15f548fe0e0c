"""Open files of examples in tests."""

from service.files.columns import Columns
from service.files.sources import open_source


def opened(path, form=None, *, max_message_bytes=0, **columns):
    """Open a file whose rows become events as `Columns` say."""
    columns["classes"] = frozenset(columns.get("classes", ()))
    return open_source(str(path), form, Columns(**columns), max_message_bytes=max_message_bytes)
