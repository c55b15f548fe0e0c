"""The config fingerprint: what snapshots and model files keep of the settings that decide something."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from perceptron_core.formats.packed import pack, unpack
from service.settings.declaration import Decides
from service.settings.fields import DECLARED, FIELDS, MAPPING, Settings, names_that_decide

OF_MODELS: Final = names_that_decide(Decides.MODEL, Decides.TEXT, Decides.FEATURES)
"""A model learned under others is another model."""
KEPT: Final = tuple(name for name, declared in DECLARED.items() if declared.decides != Decides.NOTHING)
OF_MODEL_FILES: Final = tuple(name for name in KEPT if name in {*OF_MODELS, *MAPPING})


def fingerprint(settings: Settings, names: Iterable[str] = KEPT) -> dict[str, Any]:
    """Return what is kept of the named settings, as it comes back from a file.

    Settings of tables, and those that say themselves what is kept, are left out at their defaults.

    >>> fingerprint(Settings(hash_bits=4), ("hash_bits", "text_values", "events.id", "hash_key"))
    {'hash_bits': 4, 'text_values': 'binary'}
    """
    found = {name: _kept(settings, name) for name in names}
    unset = {
        name
        for name, value in found.items()
        if (DECLARED[name].kept and not value) or ("." in name and value == FIELDS[name].default)
    }
    return _as_read({name: value for name, value in found.items() if name not in unset})


def _kept(settings: Settings, name: str) -> object:
    if make := DECLARED[name].kept:
        return make(settings)
    table, _, entry = name.rpartition(".")
    return getattr(getattr(settings, table) if table else settings, entry)


def _as_read(values: dict[str, object]) -> dict[str, Any]:
    read: dict[str, Any] = unpack(pack(values))
    return read


DEFAULTS: Final = _as_read({name: _kept(Settings(), name) for name in KEPT})
"""What a setting was that a fingerprint does not name."""
