"""A learner that refuses what it is asked for, as one does whose numbers have grown too large."""

from __future__ import annotations

from typing import Any, NoReturn

from perceptron_core import LearnerError


class RefusingLearner:
    """Raises `LearnerError("too much")` in one method; in all else it is another learner."""

    def __init__(self, learner: Any, method: str) -> None:
        def refuse(*_: object) -> NoReturn:
            raise LearnerError("too much")

        self._learner = learner
        setattr(self, method, refuse)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._learner, name)
