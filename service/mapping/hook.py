"""Make features of records with a function of the user's own, which `events.hook` names."""

from __future__ import annotations

import traceback
from collections.abc import Mapping

from service.mapping.features import Features
from service.mapping.skipping import NOTHING
from service.messages.rejection import Reason, Rejection
from service.settings.code import import_code, with_version

_RESULT = "expected a dictionary of features, or a tuple of it and a text"


class Hook:
    """A function from a record to features, or to features and a text.

    Parameters
    ----------
    setting
        Names it, perhaps with its version.

    Raises
    ------
    ConfigurationError
        It cannot be imported, or has another version.

    """

    def __init__(self, setting: str) -> None:
        self.place = with_version(setting).partition(" ")[0]
        self._call = import_code("events.hook", self.place, "")

    def add(self, features: Features, document: object) -> str | None:
        """Add the features of a record, and return its text; None if there is none.

        Raises `Rejection` where the function raises, or returns something else.
        """
        try:
            found = self._call(document)
        except MemoryError:  # no fault of the record
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the user's code raises
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{where.filename.rpartition('/')[2]}:{where.lineno}, in {where.name}"
            raise self._rejection(f"{type(error).__name__}: {error} ({place})") from None
        made, text = found if isinstance(found, tuple) and len(found) == 2 else (found, None)  # noqa: PLR2004
        if not isinstance(made, Mapping) or not isinstance(text, (str, type(None))):
            raise self._rejection(f"{_RESULT}, not {type(found).__name__}")
        for name, value in made.items():
            if not isinstance(name, str):
                raise self._rejection(f"a feature's name is no text: {name!r:.50}")
            features.found.pop(name, None)
            try:
                features.add(value, name, f"{name}.", NOTHING)
            except RecursionError:
                raise self._rejection("what it returned is nested too deeply") from None
        return text

    def _rejection(self, what: str) -> Rejection:
        return Rejection(Reason.HOOK_ERROR, f"{self.place} (events.hook): {what}")
