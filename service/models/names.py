"""Names of models that are treated apart. It imports nothing, so that the command line's help stays quick."""

from typing import Final

AUTO: Final = "auto"
OWN_FEATURES: Final = frozenset({AUTO, "character-naive-bayes"})
"""Models that take events as they are, and make their own features."""
