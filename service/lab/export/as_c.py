"""The format `c`: a linear model as one file of C99 that reads events and texts as the service does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from service.lab.export.code_points import (
    Range,
    case_ignorable,
    cased,
    lines_of,
    lower_case,
    ranges_of,
    word_ranges,
)
from service.lab.export.linear import LinearModel
from service.version import version

_TEMPLATE: Final = Path(__file__).with_name("template.c")
_PLAIN: Final = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\?')  # ?: of trigraphs


def export(model: LinearModel) -> bytes:
    """Write a model down.

    Raises
    ------
    ConfigurationError
        Its texts are cut in a way that C cannot.

    """
    settings = model.settings
    lowers = model.has_text and settings.lowercase
    values = {
        "LEARNER": model.learner,
        "VERSION": version(),
        "SCORES": len(model.biases),
        "CLASSES": len(model.labels),
        "FEATURES": len(model.weights),
        "HASH_BITS": settings.hash_bits,
        "IS_SCALED": int(bool(model.scales)),
        "UNIT_LENGTH": int(settings.normalize == "l2"),
        "CHARACTERS": int(settings.text == "chars"),
        "LOWERCASE": int(settings.lowercase),
        "SHORTEST": settings.ngrams[0],
        "LONGEST": settings.ngrams[1],
        "COUNTS": int(settings.text_values == "counts"),
        "LABELS": ",\n".join(f"    {literal(name.encode(errors='replace'))}" for name in model.label_names),
        "BIASES": ", ".join(map(repr, model.biases)),
        "THRESHOLD": repr(model.threshold),
        "POSITIVE_AT_THRESHOLD": int(model.positive_at_threshold),
        "MODEL": "\n".join(_rows(model)),
        "WORD": _ranges(word_ranges(model, "c")),
        "CASED": _ranges(ranges_of(cased) if lowers else []),
        "CASE_IGNORABLE": _ranges(ranges_of(case_ignorable) if lowers else []),
        "CAPITALS": lines_of(
            f"{{{', '.join(map(str, each))}}}" for each in (lower_case() if lowers else [(1, 0, 1, 0)])
        ),
    }
    return filled(_TEMPLATE, values)


def filled(template: Path, values: dict[str, Any]) -> bytes:
    """Put values in the places of a template, each once: what a value says is no place."""
    head, *parts = template.read_text(encoding="utf-8").split("@")
    for number in range(0, len(parts) - 1, 2):
        head += f"{values[parts[number]]}{parts[number + 1]}"
    return head.encode()


def literal(data: bytes) -> str:
    r"""Write bytes as a string of C.

    >>> print(literal('"é"'.encode()))
    "\042\303\251\042"
    """
    return '"' + "".join(chr(byte) if byte in _PLAIN else f"\\{byte:03o}" for byte in data) + '"'


def _rows(model: LinearModel) -> Iterator[str]:
    hashed = bool(model.settings.hash_bits)
    # A surrogate is in no UTF-8, so no event has such a name.
    known = {name if hashed else name.encode(errors="surrogatepass"): name for name in model.weights}
    for key in sorted(known):
        weights = ", ".join(map(repr, model.weights[known[key]]))
        named = f"0, {key}" if hashed else f"{literal(key)}, {len(key)}"
        yield f"    {{{named}, {model.scales.get(known[key], 1.0)!r}, {{{weights}}}}},"


def _ranges(ranges: Sequence[Range]) -> str:
    return lines_of(f"{{{first}, {last}}}" for first, last in ranges or [(1, 0)])
