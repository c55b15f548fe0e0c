"""What a learner refuses. It refuses before it writes: its state is as it was.

LearnerError (a ValueError)
 ├─ FeatureError   a feature value is not a finite number of sane size
 ├─ LabelError     a label denotes no class the learner knows
 └─ DamagedError   bytes that hold no model, or not the one that was written
     └─ NewerError  they are of a version that a newer release writes
"""

from __future__ import annotations


class LearnerError(ValueError):
    """Base of what a learner refuses."""


class FeatureError(LearnerError):
    """A feature value is NaN, infinite, beyond `MAX_MAGNITUDE`, or no number at all."""


class LabelError(LearnerError):
    """A label that denotes no class."""


class DamagedError(LearnerError):
    """Serialised data of another kind or an unknown version, cut off, or changed."""


class NewerError(DamagedError):
    """Serialised data of a version that only a newer release knows: there is nothing wrong with it."""
