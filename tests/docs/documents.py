"""The documents, cut into their blocks of code."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [
    page
    for page in [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    if page.name != "benchmarks.md"  # written by `make bench`
]

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[\w.: -]+) -->\n)?```(?P<language>\w+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


class Block(NamedTuple):
    """A block of code; `mark` is what the comment before it says."""

    language: str
    code: str
    mark: str


def blocks(page):
    text = page.read_text(encoding="utf-8")
    return [Block(found["language"], found["code"], found["mark"] or "") for found in _BLOCK.finditer(text)]


def page_name(page):
    return str(page.relative_to(ROOT))
