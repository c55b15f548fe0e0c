"""Write proposed settings as TOML, with the reasons as comments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from service.lab.proposal.proposal import LEFT_OUT, Proposal
from service.redaction import one_line

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
    yield from _list("features", proposal.features)
    yield from _list("vectors", proposal.vectors)
    left_out = [row for row in proposal.rows if row.role == LEFT_OUT]
    if left_out:
        yield "# left out:"
        yield from (_comment(f"  {row.field}: {row.why}") for row in left_out)


def _list(name: str, paths: Mapping[str, str]) -> Iterator[str]:
    if paths:
        yield f"{name} = ["
        yield from (f"  {_value(path)},{_behind(why)}" for path, why in paths.items())
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
