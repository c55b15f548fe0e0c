"""Propose settings for records that nobody has described: each field has a role, and the reason for it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from service.errors import InputFileError
from service.lab.fields import (
    MISSING,
    UNDECIDED,
    Field,
    classes_of,
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
    tells,
    time_form,
)
from service.redaction import one_line
from service.settings.mapping import KEY, OFFSET, EventSettings

LEFT_OUT: Final = "left out"
"""The role of a field that is not used."""
OWN: Final = frozenset({"id", "features", "text", "label"})
_ENVELOPES: Final = (("payload", "after"), ("after",))
"""Where Debezium has a row."""
_OUTCOME: Final = "an outcome, known only afterwards: it would tell the label"
_LONGEST_VECTOR: Final = 1024
_SHOWN: Final = 3
_BINARY: Final = 2
_LONGEST_SHOWN: Final = 24


class Row(NamedTuple):
    """What a field is."""

    field: str
    role: str
    why: str


@dataclass
class Proposal:
    """Settings, and how they were found.

    Attributes
    ----------
    rows
        What each field is.
    settings
        By name, with the reason.
    texts, features, vectors, leaks
        Paths with their reasons; leaks are features but for the fact that they tell the label.
    warnings
        What a person should look at.

    """

    rows: list[Row] = field(default_factory=list)
    settings: dict[str, tuple[object, str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    features: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, str] = field(default_factory=dict)
    leaks: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def add(self, name: str, role: str, why: str) -> None:
        """Note what a field is."""
        self.rows.append(Row(name, role, why))


def propose(
    documents: Sequence[Mapping[str, Any]],
    name: str,
    given: EventSettings,
    *,
    topic: str = "",
    keys: Sequence[bytes | None] = (),
) -> Proposal:
    """Propose settings for documents.

    Parameters
    ----------
    documents
        The values of some records.
    name
        Where they are from, for messages.
    given
        Fields that a person has named: `id` and `label`.
    topic
        Where they are from, if it is a topic.
    keys
        Of records of a topic.

    Raises
    ------
    InputFileError
        All labels are of one class, or there is no field to learn from.

    """
    found = Proposal()
    found.settings["model"] = ("auto", "takes numbers, categories and texts as they are")
    if topic:
        found.settings["events_topic"] = (topic, "")
    fields, is_own = fields_of(documents), _are_own(documents)
    label = _named(fields, given.label, name) or _find_label(
        found,
        [each for each in fields if not is_own or each.keys == ("label",)],
        is_table=not topic and all(len(each.keys) == 1 for each in fields),
    )
    truths = {} if label is None else _add_label(found, label, name)
    if is_own:
        found.add("id, features, text", "as they are", "the service's own schema")
        found.settings.pop("labels_topic", None)
        if found.settings.get("events.label", ("",))[0] == "label":
            del found.settings["events.label"]
        return found
    root = _root_of(documents)
    _add_place(found, fields, given, keys, root, name)
    for each in fields:
        if each.path not in {row.field for row in found.rows}:
            _add_feature(found, each, root, label, truths)
    if not (found.features or found.vectors or found.texts or found.leaks):
        hint = "; ".join(f"{row.field}: {row.why}" for row in found.rows if row.role == LEFT_OUT)
        raise InputFileError(f"{name}: there is no field to learn from", hint=hint or "all is id and label")
    return found


def _are_own(documents: Collection[Mapping[str, Any]]) -> bool:
    names = {name for each in documents for name in each}
    return names <= OWN and bool(names & {"features", "text"})


def _root_of(documents: Collection[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return where the contents are, if most records are in an envelope of a kind that is known."""
    if all("specversion" in each and isinstance(each.get("data"), dict) for each in documents):
        return ("data",)  # CloudEvents
    for keys in _ENVELOPES:
        holders = [each.get(keys[0]) if len(keys) > 1 else each for each in documents]
        rows = [
            each
            for each in holders
            if isinstance(each, dict) and "op" in each and isinstance(each.get("after"), dict)
        ]
        if 2 * len(rows) > len(documents):
            return keys
    return ()


def _named(fields: Collection[Field], path: str, name: str) -> Field | None:
    """Return the field that a person has named."""
    if not path:
        return None
    for each in fields:
        if each.path == path:
            return each
    raise InputFileError(
        f"{name}: no record has the field {path}",
        hint="name one of " + ", ".join(each.path for each in fields),
    )


def _find_label(found: Proposal, fields: Sequence[Field], *, is_table: bool) -> Field | None:
    """Return the likeliest label, and warn of what else it may be."""
    likely = find_labels(fields, is_table=is_table)
    if not likely:
        found.warnings.append("no field looks like the label: labels are expected on the labels topic")
        return None
    label, *rivals = likely
    if is_guess(label):
        found.warnings.append(
            f"{label.path} is taken for the label as the last field: --events-label names another"
        )
    found.warnings += [
        f"{each.path} may be the label too, or tell it: --events-label {each.path} takes it"
        for each in rivals
    ]
    return label


def _add_label(found: Proposal, label: Field, name: str) -> Mapping[int, Any]:
    """Add the label, and the classes unless they need no names; return the truths by number of the record."""
    truths = {
        number: value
        for number, value in label.known.items()
        if not (isinstance(value, str) and value.lower() in UNDECIDED)
    }
    counts = Counter(_class_name(value) for value in truths.values())
    if len(counts) < _BINARY:
        what = f"is {next(iter(counts))} wherever it is known" if counts else "is never known"
        raise InputFileError(
            f"{name}: {label.path}, which looks like the label, {what}: there is nothing to tell apart",
            hint="take more records with -n, or name another field with --events-label",
        )
    values = {*truths.values()}
    needs_names = not values <= {0, 1} and not values <= {-1, 1}
    if needs_names:
        classes = classes_of(counts, counts.__getitem__)
        order = "the negative one first" if len(classes) == _BINARY else f"{len(classes)} of them"
        found.settings["classes"] = (classes, order)
    found.settings["labels_topic"] = ("", "labels come with their events")
    why = ", ".join(f"{each} {count}" for each, count in counts.most_common(_SHOWN))
    others = sorted(
        {value for value in label.values.values() if isinstance(value, str) and value not in counts}
    )
    if others:
        why += f"; no label yet: {', '.join(others)}"
    found.add(label.path, "label", why)
    found.settings["events.label"] = (
        _label_path(label, others, needs_text=needs_names and len(counts) > _BINARY),
        why,
    )
    return truths


def _class_name(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _label_path(label: Field, others: Sequence[str], *, needs_text: bool) -> str:
    path = label.path
    if others:
        unlike = " && ".join(f"{path} != {_quoted(each)}" for each in others)
        return f"({unlike} && {path}) || null"
    if needs_text and not all(isinstance(value, str) for value in label.known.values()):
        return f"{path} && to_string({path})"
    return path


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _add_place(
    found: Proposal,
    fields: Collection[Field],
    given: EventSettings,
    keys: Sequence[bytes | None],
    root: tuple[str, ...],
    name: str,
) -> None:
    """Add the id and the event time."""
    others = [each for each in fields if each.path not in {row.field for row in found.rows}]
    is_row = root[-1:] == ("after",)
    within = [each for each in others if not is_row or each.keys[: len(root)] == root]
    each = _named(fields, given.id, name) or find_id(within, may_repeat=is_row)
    if each is not None:
        why = "an id in each record" if not each.is_unique else "in each record, and never twice"
        found.add(each.path, "id", why)
        found.settings["events.id"] = (each.path, why)
    elif keys and None not in keys and len({*keys}) == len(keys):
        found.settings["events.id"] = (KEY, "no field names each record; each has a key of its own")
    else:
        found.settings["events.id"] = (OFFSET, "no field names each record: its place does")
        found.warnings.append("no field is an id: labels can only come with their events")
    time = find_time([each for each in others if each.path != found.settings["events.id"][0]])
    if time is not None:
        form = time_form(time)
        found.add(time.path, "timestamp", form)
        found.settings["events.timestamp"] = (time.path, form)


def _add_feature(
    found: Proposal, each: Field, root: tuple[str, ...], label: Field | None, truths: Mapping[int, Any]
) -> None:
    """Decide whether a field is a feature, a text or nothing."""
    path = each.path
    if why := _why_not(each, root, label):
        found.add(path, LEFT_OUT, why)
        if why == _OUTCOME:
            found.warnings.append(f"{path} is left out: {why}")
        return
    if each.n_words:
        found.texts[path] = f"{each.n_words:.0f} words on average"
        found.add(path, "text", found.texts[path])
        return
    entry, why = _entry(each)
    if truths and tells(each, truths):
        found.warnings.append(f"{path} is left out: it tells the label by itself, so it may come after it")
        found.leaks[entry] = f"{why}; tells the label by itself"
        found.add(path, "commented out", found.leaks[entry])
        return
    (found.vectors if each.vector_length else found.features)[entry] = why
    found.add(path, "feature", why)


def _why_not(each: Field, root: tuple[str, ...], label: Field | None) -> str:
    """Return why a field is no feature; empty if it is one."""
    reasons = (
        (root != each.keys[: len(root)], f"of the envelope, not of {path_of(root)}"),
        (not each.keys[-1], "it has no name"),
        (not each.known, "never known"),
        (label is not None and is_outcome(each, label), _OUTCOME),
        (is_time(each), "a time"),
        (each.vector_length > _LONGEST_VECTOR, f"a vector of more than {_LONGEST_VECTOR} numbers"),
        (not each.n_words and is_identifier(each), "an identifier: nearly each record has its own"),
        (is_entity(each), f"names one of {len(each.distinct)}: windows may count `by` it"),
    )
    return next((why for holds, why in reasons if holds), "")


def _entry(each: Field) -> tuple[str, str]:
    """Return a feature as `events.features` names it, and what it is."""
    path, name = each.path, path_of([".".join(each.keys)])
    missing = each.n_records - len(each.known)
    absent = f", missing in {missing}" if missing else ""
    if each.vector_length:
        return path, f"a vector of {each.vector_length} numbers{absent}"
    if each.are_numbers and each.words & {"id", "code", "zip"}:
        return f"{{{name}: {path} && to_string({path})}}", f"numbers that are names{absent}"
    if each.are_texts_of_numbers:
        said = sorted({value for value in each.values.values() if str(value).strip().lower() in MISSING})
        meant = f": {', '.join(map(repr, said))}" if said else ""
        return f"{{{name}: to_number({path})}}", f"numbers as text{absent}{meant}"
    if each.are_numbers:
        return path, f"numbers{absent}"
    if not each.is_scalar:
        return path, f"a list of categories{absent}"
    return path, f"{_examples(each)}{absent}"


def _examples(each: Field) -> str:
    shown = ", ".join(_class_name(value)[:_LONGEST_SHOWN] for value in each.distinct[:_SHOWN])
    return f"{len(each.distinct)} values: {shown}" if len(each.distinct) > 1 else f"always {shown}"


_EVENTS = "events."


def toml_of(proposal: Proposal, head: str) -> str:
    """Return the text of a file with these settings."""
    return "\n".join(_lines(proposal, head)) + "\n"


def _lines(proposal: Proposal, head: str) -> Iterator[str]:
    yield _comment(head)
    own = {name: each for name, each in proposal.settings.items() if not name.startswith(_EVENTS)}
    events = {name: each for name, each in proposal.settings.items() if name not in own}
    for name, (value, why) in own.items():
        yield f"{name} = {_value(value)}{_behind(why)}"
    if not events:
        return
    yield ""
    yield "[events]"
    for name, (value, why) in events.items():
        yield f"{name.removeprefix(_EVENTS)} = {_value(value)}{_behind(why)}"
    yield from _list("text", proposal.texts)
    yield from _list("features", proposal.features, proposal.leaks)
    yield from _list("vectors", proposal.vectors)
    left_out = [row for row in proposal.rows if row.role == LEFT_OUT]
    if left_out:
        yield "# left out:"
        yield from (_comment(f"  {row.field}: {row.why}") for row in left_out)


def _list(name: str, paths: Mapping[str, str], leaks: Mapping[str, str] | None = None) -> Iterator[str]:
    """Write a list of paths, a line each; those that leak are comments."""
    if paths or leaks:
        yield f"{name} = ["
        yield from (f"  {_value(path)},{_behind(why)}" for path, why in paths.items())
        yield from (_comment(f"  {_value(path)},{_behind(why)}") for path, why in (leaks or {}).items())
        yield "]"


def _value(value: object) -> str:
    """Write text or a list of texts; TOML takes what JSON makes of them, but for DEL."""
    if isinstance(value, str) and '"' in value and "'" not in value and value.isprintable():
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _behind(why: str) -> str:
    return f"  {_comment(why)}" if why else ""


def _comment(text: str) -> str:
    return f"# {one_line(text)}"
