"""A learner that rejects what it is asked for, as one does whose numbers have grown too large."""

from __future__ import annotations

from typing import Any, NoReturn

from perceptron_core import LearnerError


class RejectingLearner:
    """Raises `LearnerError("too much")` in some methods; in all else it is another learner."""

    rule = None
    """The compiled fast path, which asks the rule and not the learner, leaves events to the processor."""

    def __init__(self, learner: Any, *methods: str) -> None:
        def reject(*_: object) -> NoReturn:
            raise LearnerError("too much")

        self._learner = learner
        for method in methods:
            setattr(self, method, reject)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)
