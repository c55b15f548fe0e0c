"""Propose settings for undescribed records: each field gets a role, with the reason for it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from service.errors import InputFileError
from service.lab.fields import (
    WORDS,
    Field,
    classes_of,
    determines,
    elements_of,
    fields_of,
    find_id,
    find_labels,
    find_time,
    is_entity,
    is_guess,
    is_identifier,
    is_outcome,
    is_time,
    path_of,
    read_as_written,
    time_form,
)
from service.messages.labels import BINARY
from service.messages.paths import parse_path
from service.redaction import one_line
from service.settings.mapping import KEY, OFFSET, EventSettings, LabelSettings

LEFT_OUT: Final = "left out"
"""The role of a field that is not used."""
_LEAK: Final = "commented out"
"""The role of a field that leaks the label."""
_LISTS: Final = {"text": ("text",), "features": ("feature", _LEAK), "vectors": ("vector",)}
"""The lists of the table [events], with the roles of their fields."""
OWN: Final = frozenset({"id", "features", "text", "label"})
_ENVELOPES: Final = (("payload", "after"), ("after",))
"""Paths of a row in Debezium's envelopes."""
_OUTCOME: Final = "an outcome, known only after the label"
_MAX_VECTOR_LENGTH: Final = 1024
_SHOWN: Final = 3
_MAX_SHOWN_LENGTH: Final = 24


class Row(NamedTuple):
    """The role of a field."""

    field: str
    role: str
    why: str
    entry: str = ""
    """Name of the field in a list of the settings."""


@dataclass
class Proposal:
    """Proposed settings, with their reasons.

    Attributes
    ----------
    rows
        The role of each field.
    settings
        Settings by name, each with its reason.
    warnings
        Points that a person should check.

    """

    rows: list[Row] = field(default_factory=list)
    settings: dict[str, tuple[object, str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, name: str, role: str, why: str, entry: str = "") -> None:
        """Note the role of a field."""
        self.rows.append(Row(name, role, why, entry))

    def of(self, *roles: str) -> list[Row]:
        """Return the fields with these roles."""
        return [row for row in self.rows if row.role in roles]


class Records(NamedTuple):
    """The records of a file or a topic that are objects, the number of all records, and their keys."""

    name: str
    documents: Sequence[Mapping[str, Any]]
    n_records: int
    keys: Sequence[bytes | None] = ()


class Labels(NamedTuple):
    """The labels in a separate file, and the fields of them that the user has named."""

    records: Records
    given: LabelSettings


def propose(
    records: Records, given: EventSettings, *, topic: str = "", labels: Labels | None = None
) -> Proposal:
    """Propose settings for records.

    Parameters
    ----------
    records
        The records.
    given
        Fields that the user has named: `id` and `label`.
    topic
        Topic of the records, if they are from one.
    labels
        The labels, if they are in a separate file.

    Raises
    ------
    InputFileError
        All labels are of one class, or there is no field to learn from.

    """
    proposal, (name, documents, _, keys) = Proposal(), records
    proposal.settings["model"] = ("auto", "takes numbers, categories and texts as they are")
    if topic:
        proposal.settings["events_topic"] = (topic, "")
    fields, is_own = fields_of(documents), _are_own(documents)
    read_as_written(fields)
    label, truths, id_path = None, dict[int, Any](), given.id
    if labels is not None:
        id_path, truths = _add_labels(proposal, fields, given.id, labels)
    else:
        label = _named(fields, given.label, name, documents) or _find_label(
            proposal,
            [field for field in fields if not is_own or field.keys == ("label",)],
            is_table=not topic and all(len(field.keys) == 1 for field in fields),
        )
        truths = {} if label is None else _add_label(proposal, label, name)
    _warn_of_few(proposal, truths, len(documents))
    if is_own:
        proposal.add("id, features, text", "as they are", "the native schema")
        proposal.settings.pop("labels_topic", None)
        if proposal.settings.get("events.label", ("",))[0] == "label":
            del proposal.settings["events.label"]
        return proposal
    root = _root_of(documents)
    uses = parse_path(label.expression).uses if label is not None and label.expression else ()
    for each in fields:
        if each.keys in uses:
            proposal.add(each.path, LEFT_OUT, "the label is made of it")
    _add_id_and_time(proposal, fields, id_path, keys, root, name)
    for each in fields:
        if each.path not in {row.field for row in proposal.rows}:
            _add_feature(proposal, each, root, label, truths)
    _settle(proposal, name)
    return proposal


def _settle(proposal: Proposal, name: str) -> None:
    """Comment out fields that leak the label, with a warning, unless there are no other fields.

    Raises `InputFileError` if there is no field at all.
    """
    has_others = bool(proposal.of("text", "feature", "vector"))
    for row in proposal.of(_LEAK):
        what = "is left out: it" if has_others else "is all there is, and"
        proposal.warnings.append(f"{row.entry} {what} determines the label, so it may be known only after it")
    if not has_others:
        proposal.rows = [row._replace(role="feature") if row.role == _LEAK else row for row in proposal.rows]
    if not proposal.of("text", "feature", "vector"):
        hint = "; ".join(f"{row.field}: {row.why}" for row in proposal.of(LEFT_OUT))
        raise InputFileError(
            f"{name}: no field to learn from", hint=hint or "add fields other than id and label"
        )


def _are_own(documents: Collection[Mapping[str, Any]]) -> bool:
    names = {name for document in documents for name in document}
    return names <= OWN and bool(names & {"features", "text"})


def _root_of(documents: Collection[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the path of the contents if most records have a known kind of envelope."""
    if all("specversion" in document and isinstance(document.get("data"), dict) for document in documents):
        return ("data",)  # CloudEvents
    for keys in _ENVELOPES:
        holders = [document.get(keys[0]) if len(keys) > 1 else document for document in documents]
        rows = [
            holder
            for holder in holders
            if isinstance(holder, dict) and "op" in holder and isinstance(holder.get("after"), dict)
        ]
        if 2 * len(rows) > len(documents):
            return keys
    return ()


def _named(
    fields: Collection[Field], path: str, name: str, documents: Sequence[Mapping[str, Any]] = ()
) -> Field | None:
    """Return the field that the user has named, or the values of an expression over the documents."""
    if not path:
        return None
    for each in fields:
        if each.path == path:
            return each
    find = parse_path(path).find
    made = {number: find(document) for number, document in enumerate(documents)}
    if values := {number: value for number, value in made.items() if value is not None}:
        return Field((path,), len(documents), values, path)
    raise InputFileError(
        f"{name}: unknown field {path}", hint="name one of " + ", ".join(field.path for field in fields)
    )


def _find_label(proposal: Proposal, fields: Sequence[Field], *, is_table: bool) -> Field | None:
    """Return the likeliest label, and warn of other fields that it may be."""
    likely = find_labels(fields, is_table=is_table)
    if not likely:
        proposal.warnings.append("no field looks like a label, so labels are expected in the labels topic")
        return None
    label, *alternatives = likely
    if is_guess(label):
        proposal.warnings.append(
            f"{label.path} is assumed to be the label, as the last field: choose another with --events-label"
        )
    proposal.warnings += [
        f"{each.path} may be the label, or determine it: choose it with --events-label {each.path}"
        for each in alternatives
    ]
    return label


def _add_labels(
    proposal: Proposal, fields: Sequence[Field], id_path: str, labels: Labels
) -> tuple[str, dict[int, Any]]:
    """Add the labels of a separate file; return the path of the events' ids, and the truths."""
    (file, documents, *_), given = labels
    theirs = fields_of(documents)
    shared = _shared_ids(fields, theirs, id_path, given.id)
    if shared is None:
        hint = "name the id fields with --events-id and --labels-id, or read more records with -n"
        raise InputFileError(f"{file}: no field matches the ids of the events", hint=hint)
    event_id, label_id = shared
    others = [field for field in theirs if field is not label_id]
    label = _named(others, given.label, file, documents) or _find_label(proposal, others, is_table=True)
    if label is None:
        hint = "name it with --labels-label; if each row has the same class: --labels-label '`true`'"
        raise InputFileError(f"{file}: no field looks like a label", hint=hint)
    proposal.settings["labels.id"] = (label_id.path, f"the same values as {event_id.path} of the events")
    truths = _add_label(proposal, label, file, "labels")
    others = [field for field in others if field is not label]
    read_as_written(others)
    if (time := find_time(others)) is not None:
        _add_time(proposal, time, "labels")
    numbers = {str(value): number for number, value in event_id.known.items()}
    ids = {number: str(value) for number, value in label_id.known.items()}
    known = {ids[number]: truth for number, truth in truths.items() if number in ids}
    return event_id.path, {numbers[each]: truth for each, truth in known.items() if each in numbers}


def _shared_ids(
    fields: Sequence[Field], theirs: Sequence[Field], id_path: str, label_id_path: str
) -> tuple[Field, Field] | None:
    """Return the pair of fields of events and labels with the most common values; None without any."""
    ours = [(field, field.texts()) for field in fields if id_path in {"", field.path}]
    others = [(field, field.texts()) for field in theirs if label_id_path in {"", field.path}]
    pairs = [(len(mine & its), each, other) for each, mine in ours for other, its in others]
    best = max(pairs, key=lambda each: each[0], default=None)
    return best[1:] if best and best[0] else None


def _add_label(proposal: Proposal, label: Field, name: str, table: str = "events") -> dict[int, Any]:
    """Add the label, and the classes if they need names; return the truths by number of the record."""
    truths = {
        number: value
        for number, value in label.known.items()
        if not (isinstance(value, str) and value.lower() in WORDS["undecided"])
    }
    counts = Counter(_class_name(value) for value in truths.values())
    if len(counts) == 1 and (table == "labels" or len(label.known) < label.n_records):
        _add_other_class(proposal, counts, truths.values())
    elif len(counts) < BINARY:
        what = f"is {next(iter(counts))} wherever it is known" if counts else "is never known"
        raise InputFileError(
            f"{name}: {label.path}, which looks like the label, {what}: expected two classes",
            hint="read more records with -n, or name another field with --events-label",
        )
    values = {*truths.values()}
    needs_names = not values <= {0, 1} and not values <= {-1, 1}
    if needs_names and "classes" not in proposal.settings:
        classes = classes_of(counts, counts.__getitem__)
        order = "the negative one first" if len(classes) == BINARY else f"{len(classes)} of them"
        proposal.settings["classes"] = (classes, order)
    if table == "events":
        proposal.settings["labels_topic"] = ("", "labels come with their events")
    why = ", ".join(f"{each} {count}" for each, count in counts.most_common(_SHOWN))
    others = sorted(
        {value for value in label.values.values() if isinstance(value, str) and value not in counts}
    )
    if others:
        why += f"; no label yet: {', '.join(others)}"
    proposal.add(label.path if table == "events" else f"{label.path} of {name}", "label", why)
    path = _label_path(label, others, needs_text=needs_names and len(counts) > BINARY)
    proposal.settings[f"{table}.label"] = (path, why)
    return truths if len(counts) > 1 else {}


def _warn_of_few(proposal: Proposal, truths: Collection[int], n_events: int) -> None:
    """Warn where most events have no label, which may be a class as well."""
    if truths and BINARY * len(truths) < n_events:
        proposal.warnings.append(
            f"only {len(truths)} of {n_events} events have a label: if the others are of a class, set "
            "events.label_on_timeout = CLASS and label_timeout_seconds"
        )


def _add_other_class(proposal: Proposal, counts: Collection[str], values: Collection[object]) -> None:
    """Propose the class of events without a label if only one class is ever labelled."""
    (name,) = counts
    if {*values} <= {0, 1}:
        other = "false" if True in values else "true"
    else:
        other = "none" if name == "other" else "other"
        proposal.settings["classes"] = ([other, name], "the negative one first")
    proposal.settings["label_timeout_seconds"] = (2_592_000, "30 days: set it longer than most labels take")
    proposal.settings["events.label_on_timeout"] = (other, f"labels are of {name} only")
    proposal.warnings.append(
        f"only {name} is ever labelled: an event without a label is {other} after label_timeout_seconds; "
        "set it longer than most labels take"
    )


def _class_name(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _label_path(label: Field, others: Sequence[str], *, needs_text: bool) -> str:
    path = label.path
    if others:
        unlike = " && ".join(f"{path} != {_quoted(other)}" for other in others)
        return f"({unlike} && {path}) || null"
    if needs_text and not all(isinstance(value, str) for value in label.known.values()):
        return f"{path} && to_string({path})"
    return path


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _add_id_and_time(
    proposal: Proposal,
    fields: Collection[Field],
    id_path: str,
    keys: Sequence[bytes | None],
    root: tuple[str, ...],
    name: str,
) -> None:
    """Add the id and the event time."""
    others = [field for field in fields if field.path not in {row.field for row in proposal.rows}]
    is_row = root[-1:] == ("after",)
    # The row may be sent again with its label.
    may_repeat = is_row or "events.label_on_timeout" in proposal.settings
    within = [field for field in others if not is_row or field.keys[: len(root)] == root]
    each = _named(fields, id_path, name) or find_id(within, may_repeat=may_repeat)
    if each is not None:
        absent = each.n_records - len(each.known)
        where = f"missing in {absent} records" if absent else "in each record"
        why = f"{where}, and never twice" if each.is_unique else f"an id {where}"
        if not (each.is_unique or may_repeat):
            again = len(each.known) - len(each.distinct)
            proposal.warnings.append(
                f"{each.path}: {again} records repeat an id, which makes them the same event"
            )
        if absent:
            proposal.warnings.append(f"{each.path}: {absent} records without this id are dead letters")
        proposal.add(each.path, "id", why)
        proposal.settings["events.id"] = (each.path, why)
    elif keys and None not in keys and len({*keys}) == len(keys):
        proposal.settings["events.id"] = (KEY, "no field names each record; each has a key of its own")
    else:
        proposal.settings["events.id"] = (OFFSET, "no field names each record: its offset does")
        proposal.warnings.append("no field is an id, so labels must come with their events")
    time = find_time([field for field in others if field.path != proposal.settings["events.id"][0]])
    if time is not None:
        proposal.add(time.path, "timestamp", time_form(time))
        _add_time(proposal, time, "events")


def _add_time(proposal: Proposal, time: Field, table: str) -> None:
    is_text = not time.time_format and time.are_texts_of_numbers
    path = f"to_number({time.path})" if is_text else time.path
    proposal.settings[f"{table}.timestamp"] = (path, time_form(time))
    if time.time_format:
        proposal.settings[f"{table}.time_format"] = ({".".join(time.keys): time.time_format}, "in UTC")


def _add_feature(
    proposal: Proposal, each: Field, root: tuple[str, ...], label: Field | None, truths: Mapping[int, Any]
) -> None:
    """Decide whether a field is a feature, a text or nothing."""
    path = each.path
    if why := _why_not(each, root, label):
        proposal.add(path, LEFT_OUT, why)
        if why == _OUTCOME:
            proposal.warnings.append(f"{path} is left out: {why}")
        return
    if each.known and not each.is_scalar and not each.vector_length and not _add_list(proposal, each):
        return
    role, entry, why = _entry(each)
    _add_decimals(proposal, [each])
    if not each.are_numbers and (words := _words_of_missing(each)):
        known = _collected(proposal, "events.missing", [], "strings that mean missing")
        known[:] = sorted({*known, *words})
    if role != "text" and truths and determines(each, truths):
        role, why = _LEAK, f"{why}; determines the label"
    proposal.add(path, role, why, entry)


def _add_decimals(proposal: Proposal, fields: Collection[Field]) -> None:
    """Add the decimal signs of numbers that were texts."""
    for each in fields:
        if each.decimal:
            signs = _collected(proposal, "events.decimal", {}, "the decimal separator")
            signs[".".join(each.keys)] = each.decimal


def _collected(proposal: Proposal, name: str, empty: Any, why: str) -> Any:  # noqa: ANN401 - list or dict
    """Return the collection that a setting has so far, to be added to."""
    return proposal.settings.setdefault(name, (empty, why))[0]


def _add_list(proposal: Proposal, each: Field) -> bool:
    """Leave out identifiers within lists; return whether any field is left."""
    elements = elements_of(each)
    read_as_written(elements)
    _add_decimals(proposal, elements)
    ids = [inner for inner in elements if is_identifier(inner)]
    for inner in ids:
        proposal.add(inner.path, LEFT_OUT, "identifiers: nearly each is another one")
    within = [inner.path for inner in ids if inner.keys != each.keys]
    if within:
        _collected(proposal, "events.exclude", [], "identifiers within lists").extend(within)
    return len(within) == len(ids)


def _why_not(each: Field, root: tuple[str, ...], label: Field | None) -> str:
    """Return why a field is not a feature; empty if it is one."""
    reasons = (
        (root != each.keys[: len(root)], f"of the envelope, not of {path_of(root)}"),
        (not each.keys[-1], "it has no name"),
        (not each.known, "never known"),
        (label is not None and is_outcome(each, label), _OUTCOME),
        (is_time(each), "a time"),
        (each.vector_length > _MAX_VECTOR_LENGTH, f"a vector of more than {_MAX_VECTOR_LENGTH} numbers"),
        (not each.n_words and is_identifier(each), "an identifier: nearly each record has its own"),
        (is_entity(each), f"names one of {len(each.distinct)}: windows may count `by` it"),
    )
    return next((why for holds, why in reasons if holds), "")


def _entry(each: Field) -> tuple[str, str, str]:
    """Return the role of a used field, its name in the settings, and a description."""
    path, name = each.path, path_of([".".join(each.keys)])
    missing = each.n_records - len(each.known)
    absent = f", missing in {missing}" if missing else ""
    if each.n_words:
        return "text", path, f"{each.n_words:.0f} words on average"
    if each.vector_length:
        return "vector", path, f"a vector of {each.vector_length} numbers{absent}"
    entry = path
    if each.are_numbers and each.words & {"id", "code", "zip"}:
        entry, why = f"{{{name}: {path} && to_string({path})}}", f"numbers that are names{absent}"
    elif each.are_texts_of_numbers:
        words = _words_of_missing(each)
        meant = f": {', '.join(map(repr, words))}" if words else ""
        entry, why = f"{{{name}: to_number({path})}}", f"numbers as strings{absent}{meant}"
    elif each.are_numbers:
        why = f"numbers{absent}"
    else:
        why = f"{_examples(each) if each.is_scalar else 'a list of categories'}{absent}"
    return "feature", entry, why


def _words_of_missing(each: Field) -> list[str]:
    return sorted({str(value) for n, value in each.values.items() if n not in each.known})


def _examples(each: Field) -> str:
    shown = ", ".join(_class_name(value)[:_MAX_SHOWN_LENGTH] for value in each.distinct[:_SHOWN])
    return f"{len(each.distinct)} values: {shown}" if len(each.distinct) > 1 else f"always {shown}"


def toml_of(proposal: Proposal, head: str) -> str:
    """Return the text of a file with these settings."""
    return "\n".join(_lines(proposal, head)) + "\n"


def _lines(proposal: Proposal, head: str) -> Iterator[str]:
    yield _comment(head)
    tables: dict[str, list[str]] = {"": [], "labels": [], "events": []}
    for name, (value, why) in proposal.settings.items():
        table, _, key = name.rpartition(".")
        tables[table].append(f"{key} = {_value(value)}{_comment_after(why)}")
    yield from tables.pop("")
    for table, lines in tables.items():
        yield from ["", f"[{table}]", *lines] if lines else []
    for name, roles in _LISTS.items():
        if rows := proposal.of(*roles):
            listed = [(row.role, f"  {_value(row.entry)},{_comment_after(row.why)}") for row in rows]
            yield f"{name} = ["
            yield from (_comment(line) if role == _LEAK else line for role, line in listed)
            yield "]"


def _value(value: object) -> str:
    """Write a text or a list of texts. TOML accepts the JSON form, except DEL."""
    if isinstance(value, str) and '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{_value(name)} = {_value(each)}' for name, each in value.items())} }}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment_after(why: str) -> str:
    return f"  {_comment(why)}" if why else ""


def _comment(text: str) -> str:
    return f"# {one_line(text)}"
