"""The learners by name, as the classes declare themselves.

A learner is a class that has a `NAME`. It also says what it has learned (`STATE`), and with which
parameters it is tested (`VARIANTS`).
"""

from __future__ import annotations

from typing import Any

import perceptron_core


def learners() -> dict[str, Any]:
    """Return the classes of learners, by their names on the command line."""
    offered = vars(perceptron_core).values()
    return {cls.NAME: cls for cls in offered if isinstance(cls, type) and hasattr(cls, "NAME")}


def class_of(name: str) -> Any:
    """Return the class of models of a name, None if there is none; others' models are not asked for."""
    found = getattr(perceptron_core, name) if name in perceptron_core.__all__ else None
    return found if isinstance(found, type) and hasattr(found, "_set_state") else None
