"""The hashed features of a text, said plainly: `perceptron_core.text.hasher` must equal them bit for bit."""

import math
import re
from collections import Counter

import mmh3


def cut(tokenizer, text):
    """Return the tokens that a tokenizer finds in a text."""
    data, starts = tokenizer.cut(text), tokenizer.starts
    return [
        bytes(data[starts[number] : starts[number + 1] - tokenizer.gap]).decode()
        for number in range(tokenizer.count)
    ]


def plain_text_features(
    text, bits, *, analyzer="words", ngrams=(1, 1), lowercase=True, counts=False, l2=False, prefix="text="
):
    words = analyzer == "words"
    if isinstance(text, str):
        text = text.lower() if lowercase else text
        tokens = re.findall(r"\w+", text) if words else text
    else:
        tokens = [*text]
    names = [
        prefix + (" " if words else "").join(tokens[start : start + n])
        for n in range(ngrams[0], ngrams[1] + 1)
        for start in range(len(tokens) - n + 1)
    ]
    times = Counter(mmh3.hash(name.encode(), 0, signed=False) % 2**bits for name in names)
    x = {index: float(count) if counts else 1.0 for index, count in times.items()}
    norm = math.sqrt(sum(value * value for value in x.values())) if l2 else 1.0
    return {index: value / norm for index, value in x.items()}
