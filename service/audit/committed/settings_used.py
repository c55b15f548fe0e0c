"""Compare the settings of an audit with those that the service's snapshots name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from perceptron_core.formats.model_bytes import pack, unpack
from service.audit.committed.eras import PLAIN
from service.audit.committed.history import CommitHistory
from service.checkpoints.identity import named_settings
from service.errors import SettingsDiffer, TopicMissing
from service.formats.answers import ANSWER_KEY
from service.formats.schema import SchemaKind
from service.models.made_with import in_place_of_defaults
from service.settings.forms import written
from service.settings.load import Loaded, Settings
from service.settings.mapping import MAPPING, mapping_given
from service.stream import Transport

_JUDGED_BY: Final = ("events_topic", "labels_topic", *PLAIN)
"""Settings that the audit depends on and that snapshots name."""


def with_those_of_the_log(transport: Transport, loaded: Loaded) -> Loaded:
    """Return the settings with those that the newest snapshot names where none was given.

    Raises
    ------
    TransportError
        The stream cannot be read.
    NewerRelease
        A newer release has written the log.
    InputFileError
        A snapshot names settings that are none of this release.

    """
    topic, group = loaded.settings.checkpoints_topic, loaded.settings.group
    try:
        partitions = range(transport.partition_count(topic))
    except TopicMissing:
        return loaded  # the audit says so
    histories = [CommitHistory.of(transport.read(topic, partition), group) for partition in partitions]
    newest = max(histories, key=lambda history: (bool(history.identity), len(history.earlier)), default=None)
    if newest is None or not newest.identity:
        return loaded
    named = named_settings(newest.identity, newest.schemas)
    known = {name: value for name, value in named.items() if name in {*_JUDGED_BY, *MAPPING}}
    if (answers := newest.schemas.get(ANSWER_KEY)) is not None:
        known["predictions_format"] = "avro" if answers.kind == SchemaKind.AVRO else "json-schema"
    return in_place_of_defaults(known, topic, loaded)


def check_settings(histories: Iterable[CommitHistory], settings: Settings) -> None:
    """Refuse settings under which the service did not run: its outputs would be reported as wrong.

    A partition without records since a setting was changed has no snapshot of the new setting: it is enough
    that the newest snapshot of one partition agrees.

    Raises
    ------
    SettingsDiffer
        A setting is another one; the message names it and what it was.

    """
    unmapped = dict.fromkeys(MAPPING, ())
    plain = {name: getattr(settings, name) for name in _JUDGED_BY}
    mapped = mapping_given(settings.events, settings.labels)
    given = unmapped | unpack(pack(plain | mapped))  # as a snapshot holds them
    known = [{**unmapped, **history.identity} for history in histories if history.identity]
    for name in given:
        used = [each[name] for each in known if name in each]  # earlier releases lack newer ones
        if used and given[name] not in used:
            raise SettingsDiffer(
                f"{name}: the checkpoint was made with {written(used[0])}, "
                f"the setting is {written(given[name])}",
                hint=f"give the settings that the service runs under: {_as_option(name, used[0])}",
            )


def _as_option(name: str, value: object) -> str:
    flag = f"--{name.replace('_', '-').replace('.', '-')}"
    if isinstance(value, (list, tuple)):
        return f"{flag} {written(value)}" if value else f"no {flag}"
    return f"{flag} {value}" if value != "" else f"{flag} ''"
