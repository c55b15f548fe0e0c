"""Raw text, extraction included: words against River's pipeline, characters against VW's file driver."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from river import feature_extraction, linear_model

from .array_path import hashed_perceptron, predict_and_learn_texts, text_hasher
from .base import Contest, Goal, Measure, Row, Unavailable
from .clock import rate
from .examples import Text, sms_source, sms_texts

if TYPE_CHECKING:
    from perceptron_core.text.hasher import TextHasher

_BITS = 18
_NGRAM = 4
_BATCH = 1000
_QUICK_TEXTS = 2000
_PASSES, _QUICK_PASSES = 20, 5
"""Times over the texts in one run against VW: once is over before its threads have started."""
_VW_SECONDS = 1.0
"""Of a run against VW, either side: its two threads now share a core, now have one each."""


def _rate(hasher: TextHasher, texts: Sequence[Text], **options: float) -> Sequence[float]:
    """Measure texts per second from the text to the updated model, in batches as a stream brings them."""
    batches = [
        tuple(zip(*texts[first : first + _BATCH], strict=True)) for first in range(0, len(texts), _BATCH)
    ]

    def once() -> None:
        model = hashed_perceptron(_BITS)
        for messages, labels in batches:
            predict_and_learn_texts(model, hasher, messages, labels)

    return (rate(once, len(texts), **options),)


def _river(texts: Sequence[Text]) -> Sequence[float]:
    def once() -> None:
        model: Any = feature_extraction.BagOfWords() | linear_model.Perceptron()
        for text, label in texts:
            model.predict_one(text)
            model.learn_one(text, label)

    return (rate(once, len(texts)),)


@contextlib.contextmanager
def _words(quick: bool) -> Iterator[Contest]:  # noqa: FBT001 - what `Measure.prepare` is called with
    texts = sms_texts()[: _QUICK_TEXTS if quick else None]
    yield Contest(partial(_rate, text_hasher(_BITS), texts), partial(_river, texts))


def _vowpal(file: Path, count: int) -> Sequence[float]:
    """Let VW read a file: what the command `vw -d FILE` does, without the start of a process."""
    from vowpalwabbit import Workspace  # noqa: PLC0415 - `_characters` has looked whether it is there

    arguments = ["-d", str(file), "--quiet", "-b", str(_BITS), "--loss_function", "hinge"]
    return (rate(lambda: Workspace(arg_list=arguments).finish(), count, _VW_SECONDS),)


@contextlib.contextmanager
def _characters(quick: bool) -> Iterator[Contest]:  # noqa: FBT001
    try:
        import vowpalwabbit  # noqa: F401, PLC0415 - only whether it is there
    except ImportError:
        raise Unavailable("Vowpal Wabbit is not installed here; `make bench` installs it") from None
    texts = list(sms_texts()) * (_QUICK_PASSES if quick else _PASSES)
    hasher = text_hasher(_BITS, analyzer="chars", ngrams=(_NGRAM, _NGRAM), l2=True)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "texts.vw")
        file.write_text("".join(map(_vowpal_line, texts)), encoding="utf-8")
        ours = partial(_rate, hasher, texts, least_seconds=_VW_SECONDS)
        yield Contest(ours, partial(_vowpal, file, len(texts)))


def _vowpal_line(example: Text) -> str:
    """Write a text as the n-grams it has, scaled to length 1, with VW's own signs replaced."""
    text, label = example
    lowered = text.lower().translate({ord(" "): "_", ord(":"): ";", ord("|"): "!", ord("\t"): "_"})
    ngrams = dict.fromkeys(lowered[at : at + _NGRAM] for at in range(len(lowered) - _NGRAM + 1))
    scale = 1 / math.sqrt(len(ngrams)) if ngrams else 1.0
    return f"{1 if label else -1} |t:{scale:.6g} {' '.join(ngrams)}\n"


MEASURES = (
    Measure(
        "text-words",
        (
            Row(
                "text-words",
                "Raw SMS text, words / River's BagOfWords | Perceptron",
                "texts/s",
                Goal(20),
                f"From the text ({sms_source()}) to the updated model, predict and learn; ours in batches "
                f"of {_BATCH}, hashed to {_BITS} bits.",
            ),
        ),
        _words,
    ),
    Measure(
        "text-characters",
        (
            Row(
                "text-characters",
                "Raw SMS text, character 4-grams / VW's file driver on extracted features",
                "texts/s",
                Goal(3),
                f"Binary 4-grams scaled to length 1, {_BITS} bits; ours from the text ({sms_source()}), "
                f"one thread, in batches of {_BATCH}; VW (hinge loss, its parser on a thread of its own) "
                "from a file of the 4-grams in the system's cache; both predict and learn.",
            ),
        ),
        _characters,
    ),
)
