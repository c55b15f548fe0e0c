"""All measures, in the order of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from . import (
    arrays,
    catch_up,
    dictionaries,
    footprint,
    frames,
    latency,
    requests,
    snapshots,
    text,
    throughput,
)
from .base import Measure

MEASURES: Final[Sequence[Measure]] = (
    *dictionaries.MEASURES,
    *text.MEASURES,
    *arrays.MEASURES,
    *frames.MEASURES,
    *catch_up.MEASURES,
    *throughput.MEASURES,
    *latency.MEASURES,
    *requests.MEASURES,
    *snapshots.MEASURES,
    *footprint.MEASURES,
)
