"""Names of models that are treated apart. It imports nothing, so that the command line's help stays quick."""

from typing import Final

OWN_FEATURES: Final = frozenset({"auto", "character-naive-bayes", "hoeffding-forest", "nearest-neighbors"})
"""Models that take events as they are, and make their own features."""

WITHOUT_TEXT: Final = frozenset({"hoeffding-forest", "nearest-neighbors"})
"""Those of them to which a text says nothing."""
