"""Run FLAML's AutoVW, in an environment that has flaml, vowpalwabbit and scikit-learn.

    PYTHONPATH=benchmarks python benchmarks/peers/flaml_auto_vw.py AutoVW < stream.json

The stream and what is printed are those of benchmarks/anchors.py. AutoVW searches interactions of namespaces
and the rate of Vowpal Wabbit with the logistic loss, five models at a time; ten namespaces take the features
in turns, and the words of a text have one.
"""

from __future__ import annotations

import json
import re
import sys
from math import exp  # noqa: TID251  perceptron_core is not installed there
from typing import Any

from flaml import AutoVW
from flaml.tune import loguniform
from prequential import Condition, judged

_NAMESPACES = "abcdefghij"
_TEXT = "text"


class Learner:
    """AutoVW with the methods of River's classifiers; classes are False and True."""

    def __init__(self) -> None:
        space = {"interactions": AutoVW.AUTOMATIC, "learning_rate": loguniform(2e-10, 1.0)}
        fixed = {"loss_function": "logistic", "bit_precision": 22, "quiet": ""}
        start = {"interactions": set(), "learning_rate": 0.5}
        self._learner = AutoVW(5, space | fixed, start | fixed, random_seed=1)
        self._names: dict[str, int] = {}

    def predict_proba_one(self, x: dict[str, Any], /) -> dict[bool, float]:
        """Return the probability of both classes."""
        log_odds = self._learner.predict(f"1 {self._shown(x)}")
        p = 1.0 / (1.0 + exp(-max(-30.0, min(log_odds, 30.0))))
        return {False: 1.0 - p, True: p}

    def learn_one(self, x: dict[str, Any], y: bool, /) -> None:  # noqa: FBT001 - a class
        """Learn one example; it evaluates what it predicted last."""
        self._learner.learn(f"{1 if y else -1} {self._shown(x)}")

    def _shown(self, x: dict[str, Any]) -> str:
        spaces: dict[str, list[str]] = {}
        for name, value in x.items():
            number = self._names.setdefault(name, len(self._names))
            if name == _TEXT:
                spaces["t"] = re.findall("[a-z0-9]+", value.lower())
                continue
            shown = f"f{number}={value}" if isinstance(value, str | bool) else f"f{number}:{float(value)!r}"
            spaces.setdefault(_NAMESPACES[number % len(_NAMESPACES)], []).append(re.sub("[ |]", "_", shown))
        return " ".join(f"|{space} {' '.join(features)}" for space, features in spaces.items())


def main() -> None:
    """Run AutoVW over the stream of stdin."""
    given = json.load(sys.stdin)
    print(
        json.dumps(
            judged(Learner(), given["examples"], Condition(given["delay"], patience=given["patience"]))
        )
    )


if __name__ == "__main__":
    main()
