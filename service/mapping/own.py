"""Map documents that have the fields of the service's own schema."""

from __future__ import annotations

from service.messages.decoder import Decoder


class OwnMapper:
    """Makes events and labels of documents as they are; in features, null is a missing value.

    Parameters
    ----------
    decoder
        Of the own schema.

    """

    maps_time = False
    place_of_time = ""

    def __init__(self, decoder: Decoder) -> None:
        self.read = decoder.read
