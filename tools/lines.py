"""Print the lines of code of each package; exit with 1 if one has more than pyproject.toml grants it.

Blank lines, comments and docstrings are free. `make lint` runs it; to raise a budget is a decision, which the
commit that raises it explains.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Final

from pygount import SourceAnalysis

ROOT: Final = Path(__file__).parents[1]
SUFFIXES: Final = frozenset({".py", ".pyx", ".pxd"})


def count(package: Path) -> int:
    """Return the lines of code of the package's Python and Cython sources."""
    sources = (path for path in package.rglob("*") if path.suffix in SUFFIXES)
    return sum(SourceAnalysis.from_file(str(path), package.name, "utf-8").source_count for path in sources)


def main() -> int:
    """Compare each package with its budget."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    are_over = False
    for name, budget in project["tool"]["lines"].items():
        lines = count(ROOT / name)
        are_over |= lines > budget
        print(f"{name}: {lines:,} lines of code of {budget:,}")
    if are_over:
        print("hint: delete what is dead, or raise [tool.lines] in pyproject.toml and say why")
    return int(are_over)


if __name__ == "__main__":
    sys.exit(main())
