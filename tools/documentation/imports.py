"""The picture of the imports: which folder imports which. Out: docs/images/imports-*.svg.

A square for each package. A folder's row says how often it imports from the folder of each column; the
folders stand in the order of the layers in .importlinter, so that all numbers lie below the diagonal.
`make docs-plots` redraws it; a test fails when a picture is no longer what the code says.
"""

from __future__ import annotations

from collections import Counter
from configparser import ConfigParser
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import grimp

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "images"
PACKAGES: Final = {"perceptron_core": "core", "service": "service"}
"""Packages, and the contracts that hold their layers."""

_CELL: Final = 26
_NAMES_WIDTH: Final = 130
_NAMES_HEIGHT: Final = 100
_STYLE: Final = "font: 12px sans-serif; fill: #808080"


def layers(package: str) -> list[str]:
    """Return the folders and files of a package, the lowest layer first."""
    contracts = ConfigParser()
    contracts.read(ROOT / ".importlinter", encoding="utf-8")
    lines = contracts[f"importlinter:contract:{PACKAGES[package]}"]["layers"].split("\n")
    return [name.strip() for line in reversed(lines) for name in line.split("|") if name.strip()]


def imports(package: str) -> Counter[tuple[str, str]]:
    """Count the imports from one room of a package to another."""
    graph = grimp.build_graph(package, cache_dir=None)
    found: Counter[tuple[str, str]] = Counter()
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            if package not in {importer, imported}:
                rooms = importer.split(".")[1], imported.split(".")[1]
                found[rooms] += rooms[0] != rooms[1]
    return +found


def picture(package: str) -> str:
    """Draw the imports of a package as SVG."""
    rooms, counts = layers(package), imports(package)
    width = _NAMES_WIDTH + _CELL * (len(rooms) + 2)
    height = _NAMES_HEIGHT + _CELL * len(rooms)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" style="{_STYLE}">',
        f"<title>Imports between the folders of {package}</title>",
    ]
    for n, room in enumerate(rooms):
        x, y = _NAMES_WIDTH + _CELL * n, _NAMES_HEIGHT + _CELL * n
        lines += [
            f'<text x="{_NAMES_WIDTH - 8}" y="{y + 17}" text-anchor="end">{escape(room)}</text>',
            f'<text transform="translate({x + 17} {_NAMES_HEIGHT - 8}) rotate(-60)">{escape(room)}</text>',
            f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" opacity="0.25"/>',
        ]
    for (importer, imported), count in sorted(counts.items()):
        x = _NAMES_WIDTH + _CELL * rooms.index(imported) + _CELL // 2
        y = _NAMES_HEIGHT + _CELL * rooms.index(importer) + 17
        lines.append(f'<text x="{x}" y="{y}" text-anchor="middle">{count}</text>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Draw the picture of each package."""
    for package in PACKAGES:
        (FOLDER / f"imports-{package}.svg").write_text(picture(package), encoding="utf-8")


if __name__ == "__main__":
    main()
