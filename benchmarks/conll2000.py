"""Chunking on CoNLL-2000 with the structured perceptron: `python benchmarks/conll2000.py [FOLDER]`.

Prints the all-chunk F1 after one epoch and after five beside the reference. FOLDER holds `train.txt`
and `test.txt`, a line `word POS chunk` per token and an empty one after each sentence.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from perceptron_core import StructuredPerceptron

FOLDER = Path(__file__).parents[2] / "shared" / "data" / "conll2000"
REFERENCE = {1: 92.7, 5: 93.6}
"""F1 by epoch of an averaged structured perceptron, as given with the data."""

REACH = 2
"""Positions before and after a token that its features look at."""


class Sentence(NamedTuple):
    """One sentence, ready to be learned."""

    features: Sequence[Sequence[str]]
    chunk_tags: Sequence[str]


class Chunk(NamedTuple):
    """A phrase: from token `first` to before token `end`."""

    first: int
    end: int
    kind: str


def token_features(words: Sequence[str], pos: Sequence[str]) -> list[list[str]]:
    """Describe each token: words and parts of speech around it, pairs of the two, pairs and triples."""
    edge = ["<s>"] * REACH
    w, p = [*edge, *words, *edge], [*edge, *pos, *edge]
    return [
        [
            "bias",
            *(f"w{k}={w[i + k]}" for k in range(-REACH, REACH + 1)),
            *(f"w{k},{k + 1}={w[i + k]} {w[i + k + 1]}" for k in (-1, 0)),
            *(f"p{k}={p[i + k]}" for k in range(-REACH, REACH + 1)),
            *(f"p{k},{k + 1}={p[i + k]} {p[i + k + 1]}" for k in range(-REACH, REACH)),
            *(f"p{k}..{k + 2}={p[i + k]} {p[i + k + 1]} {p[i + k + 2]}" for k in range(-REACH, 1)),
            *(f"w0,p{k}={w[i]} {p[i + k]}" for k in (-1, 0, 1)),
            *(f"p0,w{k}={p[i]} {w[i + k]}" for k in (-1, 1)),
        ]
        for i in range(REACH, REACH + len(words))
    ]


def read_sentences(path: Path) -> Iterator[Sentence]:
    """Read a file of the shared task; equal features become one string, to save memory."""
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        words, pos, tags = zip(*(line.split() for line in block.splitlines()), strict=True)
        features = token_features(words, pos)
        yield Sentence([[sys.intern(name) for name in token] for token in features], tags)


def chunks(tags: Sequence[str]) -> Iterator[Chunk]:
    """List the chunks that IOB tags spell, by the rules of the task's `conlleval`.

    A chunk begins at B-, and at an I- that continues none of its kind.
    """
    first, kind = 0, ""
    for i, tag in enumerate([*tags, "O"]):
        prefix, _, tag_kind = tag.partition("-")
        if kind and (prefix != "I" or tag_kind != kind):
            yield Chunk(first, i, kind)
            kind = ""
        if prefix != "O" and not kind:
            first, kind = i, tag_kind


def chunk_f1(truths: Sequence[Sequence[str]], predictions: Sequence[Sequence[str]]) -> float:
    """Compute the F1 of all chunks, in percent: right ones have first token, end and kind right."""
    found = expected = right = 0
    for truth, prediction in zip(truths, predictions, strict=True):
        true_chunks, predicted_chunks = set(chunks(truth)), set(chunks(prediction))
        expected += len(true_chunks)
        found += len(predicted_chunks)
        right += len(true_chunks & predicted_chunks)
    return 200 * right / (found + expected) if found + expected else 100.0


def main() -> None:
    """Train five epochs in file order and print the table."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    train, test = (list(read_sentences(folder / f"{part}.txt")) for part in ("train", "test"))
    model = StructuredPerceptron()
    print(f"{'epoch':>5}{'sentences wrong':>18}{'seconds':>10}{'test F1':>10}{'reference':>11}")
    for epoch in range(1, max(REFERENCE) + 1):
        began, n_before = perf_counter(), model.n_mistakes
        for sentence in train:
            model.learn_one(sentence.features, sentence.chunk_tags)
        seconds = perf_counter() - began
        predictions = [model.predict_one(sentence.features) for sentence in test]
        f1 = chunk_f1([sentence.chunk_tags for sentence in test], predictions)
        reference = f"{REFERENCE[epoch]:>11.1f}" if epoch in REFERENCE else ""
        print(
            f"{epoch:>5}{model.n_mistakes - n_before:>18,}{seconds:>10.1f}{f1:>10.2f}{reference}", flush=True
        )
    print(f"{len(model.weights):,} weights, {len(model.transitions):,} transitions")


if __name__ == "__main__":
    main()
