# For type checkers: features may stand wherever a dictionary is read.
from typing import Any

class FeatureArray(dict[Any, Any]):
    n: int
    def as_dict(self) -> dict[Any, Any]: ...
