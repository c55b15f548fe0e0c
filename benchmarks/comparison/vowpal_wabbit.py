"""Run Vowpal Wabbit in an environment of its own, with 24 settings.

The settings are every choice of

    loss        hinge, logistic
    step        VW's own (adaptive, normalised, invariant) at the rates 0.5, 2, 10 and 40; --coin; --ftrl
    features    as they are; with pairs: of neighbours (--ngram 2) in a text, of all features
                (--interactions ::) otherwise

with 2^22 weights and all else as VW has it. The interpreter's environment has the package vowpalwabbit.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Sequence
from typing import Any

from .prequential import Condition
from .streams import Kind

_LOSSES = ("hinge", "logistic")
_STEPS = ("-l 0.5", "-l 2", "-l 10", "-l 40", "--coin", "--ftrl")

_PROGRAM = """
import collections, json, sys, vowpalwabbit
given = json.load(sys.stdin)
for setting in given["settings"]:
    vw, waiting, wrong = vowpalwabbit.Workspace("-b 22 --quiet " + setting), collections.deque(), []
    for features, positive, comes in zip(given["features"], given["labels"], given["labelled"]):
        example = vw.parse(features)
        vw.predict(example)
        wrong.append((example.get_simplelabel_prediction() > 0) != positive)
        vw.finish_example(example)
        waiting.append(("1 " if positive else "-1 ") + features if comes else None)
        if len(waiting) > given["delay"] and (due := waiting.popleft()):
            example = vw.parse(due)
            vw.learn(example)
            vw.finish_example(example)
    print(json.dumps([setting, wrong]), flush=True)
"""


def settings(kind: Kind) -> list[str]:
    """Return the options of the 24 settings."""
    pairs = "--ngram 2" if kind is Kind.TEXT else "--interactions ::"
    return [
        f"--loss_function {loss} {step} {features}".rstrip()
        for loss, step, features in itertools.product(_LOSSES, _STEPS, ("", pairs))
    ]


def vowpal_wabbit(
    python: str, kind: Kind, examples: Sequence[tuple[Any, bool]], condition: Condition
) -> dict[str, list[bool]]:
    """Return for each setting and event whether the prediction was wrong; a score of 0 is negative."""
    names: dict[object, int] = {}
    given = {
        "settings": settings(kind),
        "features": [_features(kind, x, names) for x, _ in examples],
        "labels": [y for _, y in examples],
        "labelled": condition.labelled(len(examples)),
        "delay": condition.delay,
    }
    done = subprocess.run(
        [python, "-c", _PROGRAM], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    return dict(json.loads(line) for line in done.stdout.splitlines())


def _features(kind: Kind, x: dict[Any, Any], names: dict[object, int]) -> str:
    if kind is Kind.TEXT:
        return "| " + " ".join(re.findall("[a-z0-9]+", x["text"].lower()))
    features = " ".join(
        f"f{names.setdefault(name, len(names))}:{float(value)!r}" for name, value in x.items()
    )
    return f"| {features}"
