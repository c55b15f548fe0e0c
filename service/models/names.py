"""Names of models that are treated apart. It imports nothing, so that the command line's help stays quick."""

from typing import Final

AUTO: Final = "auto"
"""The model that makes its own features."""
