"""The settings in force at each offset, as a checkpoint log names them, and decoders under each of them.

A service may be stopped, given other settings that decide what a record does, and started again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from service.audit.committed.history import CommitHistory
from service.checkpoints.identity import named_settings
from service.errors import CheckpointError, SettingsDiffer, TopicMissing
from service.formats.answers import ANSWER_KEY
from service.formats.schema import Schema, SchemaKind
from service.formats.topics import file_key, make_schemas, until
from service.messages.decoder import Decoder
from service.models.made_with import in_place_of_defaults
from service.partition.factory import make_decoder
from service.settings.declaration import Decides
from service.settings.fields import MAPPING, names_that_decide
from service.settings.fingerprint import DEFAULTS, KEPT, fingerprint
from service.settings.forms import reasons, written
from service.settings.load import Loaded, Settings
from service.settings.mapping import LabelSettings
from service.stream import Record, Transport

_PLAIN: Final = ("classes", "max_message_bytes", *names_that_decide(Decides.JOIN))
"""Settings that are no mapping, and that decide what the audit expects of a record."""


_JUDGED_BY: Final = ("events_topic", "labels_topic", *_PLAIN)
"""Settings that the audit depends on and that snapshots name."""


class Era(NamedTuple):
    """A time under the same settings."""

    until: Mapping[str, int]
    """Where it ended: next offset by topic; for the present one, that of the last commit."""
    settings: Settings


def eras_of(history: CommitHistory, settings: Settings) -> Sequence[Era]:
    """List the eras of a partition, oldest first; what its log does not name is as in `settings`.

    Raises
    ------
    CheckpointError
        The log names settings that this release does not have.

    """
    named = [*history.earlier, {"until": history.offsets, "settings": history.identity}]
    return [Era(each["until"], _as_named(each["settings"], settings, history.schemas)) for each in named]


def _as_named(named: Mapping[str, Any], settings: Settings, schemas: Mapping[bytes, Schema]) -> Settings:
    """Return the settings with those that a snapshot names, as far as the audit depends on them."""
    if not named:
        return settings
    named = named_settings(named, schemas)
    plain = {name: named[name] for name in _JUDGED_BY if _is_like(named.get(name), getattr(settings, name))}
    try:
        tables = {table.table(): _table(named, table) for table in (settings.events, settings.labels)}
    except ValidationError as error:
        why = "; ".join(reasons(error))
        raise CheckpointError(
            f"{settings.checkpoints_topic}: a snapshot names settings that are not this release's: {why}",
            hint="run the release that wrote it, or a newer one",
        ) from None
    return settings.model_copy(update=plain | tables)


def _is_like(value: object, given: object) -> bool:
    return isinstance(value, (int, float) if isinstance(given, (int, float)) else type(given))


def _table(named: Mapping[str, Any], table: LabelSettings) -> LabelSettings:
    name = f"{table.table()}."
    entries = {each.removeprefix(name): value for each, value in named.items() if each.startswith(name)}
    hook, given = (each.partition(" ")[0] for each in (entries.get("hook", ""), getattr(table, "hook", "")))
    if hook not in {"", given}:
        why = f"events.hook: records were processed with {hook}: code runs only if you name it"
        raise SettingsDiffer(why, hint=f"--features {hook}, if you trust it")
    if table.schema_file and "schema_file" in entries:
        entries["schema_file"] = table.schema_file
    return type(table)(**entries)


class DatedDecoders:
    """The decoders of one partition, by topic and offset.

    Parameters
    ----------
    eras
        The settings that describe the records, oldest first.
    schemas
        Those that the partition's checkpoint log holds.
    vectors
        How many numbers the lists of `events.vectors` have, as far as the log tells.

    """

    def __init__(
        self, eras: Sequence[Era], schemas: Mapping[bytes, Schema], vectors: Mapping[str, int]
    ) -> None:
        *earlier, present = eras
        self._present = _EraDecoders(present.settings, schemas, vectors)
        self._earlier = [(era.until, _EraDecoders(era.settings, schemas, vectors)) for era in earlier]

    def of(self, record: Record) -> Decoder:
        """Return what reads a record."""
        for ends, decoders in self._earlier:
            if record.offset < ends.get(record.topic, 0):
                return decoders.of(record)
        return self._present.of(record)


class _EraDecoders:
    """The decoders under the same settings, but for the schemas of files."""

    def __init__(
        self, settings: Settings, schemas: Mapping[bytes, Schema], vectors: Mapping[str, int]
    ) -> None:
        self._last = _decoder(settings, schemas, vectors)
        self._ends: dict[str, list[int]] = {}
        self._earlier: dict[str, list[Decoder]] = {}
        for table in (settings.events, settings.labels) if settings.labels_topic else (settings.events,):
            earlier = until(schemas, table.table()) if table.schema_file else []
            topic = settings.labels_topic if table is settings.labels else settings.events_topic
            self._ends[topic] = [end for end, _ in earlier]
            key = file_key(table.table())
            self._earlier[topic] = [
                _decoder(settings, {**schemas, key: schema}, vectors) for _, schema in earlier
            ]

    def of(self, record: Record) -> Decoder:
        """Return what reads a record."""
        ends = self._ends.get(record.topic)
        if not ends or record.offset >= ends[-1]:
            return self._last
        return self._earlier[record.topic][bisect_right(ends, record.offset)]


def _decoder(settings: Settings, schemas: Mapping[bytes, Schema], vectors: Mapping[str, int]) -> Decoder:
    made = make_decoder(settings, make_schemas(settings, schemas))
    if made.vectors is not None:
        made.vectors.restore(vectors)
    return made


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
    judged = [name for name in KEPT if name in {*_JUDGED_BY, *MAPPING}]
    given = DEFAULTS | fingerprint(settings, judged)
    known = [{**DEFAULTS, **history.identity} for history in histories if history.identity]
    for name in judged:
        used = [each[name] for each in known]
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
