"""The places of a document that other settings use, as a tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from service.messages.paths import Keys

Skip = Mapping[str, Any]
"""Names that are skipped: each with those to skip below it, or with None where that is all of it."""

NOTHING: Final[Skip] = {}


def skipping(places: Iterable[Keys], below: Keys = ()) -> Skip:
    """Return the tree of those places that lie below one.

    >>> skipping([("id",), ("card", "number"), ("card",), ("order", "id")])
    {'id': None, 'card': None, 'order': {'id': None}}
    >>> skipping([("id",), ("order", "id")], below=("order",))
    {'id': None}
    """
    tree: dict[str, Any] = {}
    for place in sorted(places, key=len):
        if len(place) > len(below) and place[: len(below)] == below:
            _plant(tree, place[len(below) :])
    return tree


def _plant(tree: dict[str, Any], keys: Keys) -> None:
    *outer, last = keys
    for key in outer:
        inner = tree.setdefault(key, {})
        if inner is None:
            return  # all of it is skipped
        tree = inner
    tree[last] = None


def first_other(document: object, known: Skip) -> str:
    """Return the path of the first field of a document that is not in a tree; empty if there is none.

    >>> first_other({"id": 7, "order": {"total": 9, "color": "red"}}, {"id": None, "order": {"total": None}})
    'order.color'
    """
    if isinstance(document, list):
        return next(filter(None, (first_other(each, known) for each in document)), "")
    if not isinstance(document, dict):
        return ""
    for key, value in document.items():
        below = known.get(key, NOTHING)
        if below is None:
            continue
        if key not in known:
            return str(key)
        if inner := first_other(value, below):
            return f"{key}.{inner}"
    return ""
