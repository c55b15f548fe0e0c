"""Messages of the common shape, read in one pass. In: the bytes of a message. Out: its fields, or nothing.

The compiled form, `event_reader.pyx`, reads what most messages are: an object with known fields, each once,
numbers of at most 19 digits, texts without escapes. Of a message in which there is anything else it reads
nothing, and Pydantic judges. This is the interpreted form: it reads no message, as Pydantic is faster.
"""

from __future__ import annotations

from service.messages.labels import LabelValue
from service.messages.schema import Features, Fields


class EventReader:
    """Reads messages of the service's own schema.

    Attributes
    ----------
    id, features, text, label
        Of the message read last. Features whose names were expected are `NamedValues` if all are numbers.

    """

    id: str
    features: Features | None
    text: str | None
    label: LabelValue | None

    def read(self, value: bytes) -> Fields | None:  # noqa: ARG002 - see above
        """Return the fields as Pydantic would read them; None if it has to be asked."""
        return None

    def read_at(self, value: bytes, size: int) -> bool:  # noqa: ARG002 - as above
        """Read a message of so many bytes, if Pydantic need not be asked; return whether that was done."""
        return False
