"""Messages of the common shape, read in one pass. In: the bytes of a message. Out: its fields, or nothing.

The compiled form, `event_reader.pyx`, reads what most messages are: an object with known fields, each once,
numbers of at most 19 digits, texts without escapes. Of a message in which there is anything else it reads
nothing, and Pydantic judges. This is the interpreted form: it reads no message, as Pydantic is faster.
"""

from __future__ import annotations

from service.messages.schema import Fields


class EventReader:
    """Reads messages of the service's own schema."""

    def read(self, value: bytes) -> Fields | None:  # noqa: ARG002 - see above
        """Return the fields as Pydantic would read them; None if it has to be asked."""
        return None
