"""Build the documentation site from docs/ and the code into build/documentation/site.

Written pages lie in docs/, and their links work there too. The build adds pages that are generated from the
code. Links that leave docs/ become links to pages: the project's other documents, the reference that is
generated from a source file, or the text of the file.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from tools.documentation.references import references

ROOT: Final = Path(__file__).parents[2]
WORK: Final = ROOT / "build" / "documentation"
REDIRECTS: Final = ROOT / "docs" / "redirects.toml"
PROJECT_PAGES: Final = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")

GENERATED: Final = {
    "docs/project/records": "project/records/index.md",
    "perceptron_core/__init__.py": "reference/learners.md",
    "perceptron_core/training/__init__.py": "reference/functions.md",
    "service/cli/app.py": "reference/commands.md",
    "service/messages/rejection.py": "reference/messages.md#dead-letter",
    "service/messages/schema.py": "reference/messages.md",
    "service/monitoring/metrics.py": "reference/metrics.md",
    "service/settings/fields.py": "reference/settings.md",
    "tests/guarantees.toml": "reference/tests.md",
}
"""Pages of the site by the folder or the source file that they are generated from."""

_LINK: Final = re.compile(r"(?<=\]\()(?!\w+:|#)(?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?(?=\))")
_PLACEHOLDER: Final = "\x02"
"""Begins what Markdown puts in the place of an escaped character: a formula that has it is drawn wrong."""
_LANGUAGES: Final = {".py": "python", ".yml": "yaml", ".yaml": "yaml", ".toml": "toml", ".md": "markdown"}


def main() -> int:
    """Assemble the site and build it; any broken link or formula is an error."""
    config = assemble(WORK)
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file", config.name]
    done = subprocess.run(command, cwd=config.parent, check=False)
    if done.returncode:
        return done.returncode
    site = config.parent / "site"
    write_redirects(site)
    damaged = pages_with_placeholders(site)
    for page in damaged:
        print(f"error: {page}: a formula has lost a character; write \\lbrace for \\{{, \\rbrace for \\}}")
    print(f"the site is {site / 'index.html'}")
    return 1 if damaged else 0


def pages_with_placeholders(site: Path) -> list[str]:
    """Name the built pages where a placeholder of Markdown is left."""
    pages = sorted(site.rglob("*.html"))
    return [str(page.relative_to(site)) for page in pages if _PLACEHOLDER in page.read_text(encoding="utf-8")]


def write_redirects(site: Path) -> None:
    """Write a page at each former address that leads to the present one.

    Raises
    ------
    FileNotFoundError
        The present page does not exist.

    """
    for former, present in tomllib.loads(REDIRECTS.read_text(encoding="utf-8")).items():
        if not (site / f"{present}.html").is_file():
            raise FileNotFoundError(f"{REDIRECTS.name} leads to {present}, which is not a page")
        address = os.path.relpath(f"{present}.html", PurePosixPath(former).parent)
        head = f'<!doctype html><meta http-equiv="refresh" content="0; url={address}">'
        _write(site / f"{former}.html", f'{head}<a href="{address}">Moved</a>\n')


def assemble(work: Path) -> Path:
    """Write all pages into `work`/docs, source and generated ones; return the configuration file.

    Raises
    ------
    FileNotFoundError
        A page links to a file that the repository does not have.

    """
    shutil.rmtree(work, ignore_errors=True)
    pages = work / "docs"
    shutil.copytree(ROOT / "docs", pages, ignore=shutil.ignore_patterns("*.py", "*.toml", "__pycache__"))
    for name, text in references().items():
        _write(pages / name, text)
    for name in PROJECT_PAGES:
        _write(pages / site_path(PurePosixPath(name)), (ROOT / name).read_text(encoding="utf-8"))
    sources = {source for page in written_pages() for source in _rewrite(pages, page)}
    for source in sources:
        _write(pages / site_path(source), _source_page(source))
    return Path(shutil.copy(ROOT / "mkdocs.yml", work))


def written_pages() -> list[PurePosixPath]:
    """List the documents that people wrote, from the repository's root."""
    inside = sorted((ROOT / "docs").rglob("*.md"))
    return [PurePosixPath(page.relative_to(ROOT)) for page in inside] + [*map(PurePosixPath, PROJECT_PAGES)]


def site_path(path: PurePosixPath) -> PurePosixPath:
    """Return where in the site a file of the repository is: a page of docs/, of the project, or of source."""
    if path.parts[0] == "docs":
        return path.relative_to("docs")
    if path.name in PROJECT_PAGES and path.parent == PurePosixPath():
        return PurePosixPath("project") / path.name.lower()
    return PurePosixPath("source") / path.with_name(f"{path.name}.md")


def linked(page: PurePosixPath) -> Iterator[PurePosixPath]:
    """Yield the files of the repository that a page of it links to."""
    for link in _LINK.finditer((ROOT / page).read_text(encoding="utf-8")):
        yield _target(page, link["target"])


def _target(page: PurePosixPath, link: str) -> PurePosixPath:
    return PurePosixPath(os.path.normpath(page.parent / link))


def _rewrite(pages: Path, page: PurePosixPath) -> Iterator[PurePosixPath]:
    """Point a page's links into the site; yield the source files among their targets."""
    here = site_path(page)
    found = []

    def rewritten(link: re.Match[str]) -> str:
        target = _target(page, link["target"])
        there = PurePosixPath(GENERATED.get(str(target), site_path(target)))
        if there.parts[0] == "source":
            if not (ROOT / target).is_file():
                raise FileNotFoundError(f"{page} links to {target}, which is not a file")
            found.append(target)
        return os.path.relpath(there, here.parent) + (link["anchor"] or "")

    text = (ROOT / page).read_text(encoding="utf-8")
    _write(pages / here, _LINK.sub(rewritten, text))
    yield from found


def _source_page(source: PurePosixPath) -> str:
    text = (ROOT / source).read_text(encoding="utf-8")
    language = _LANGUAGES.get(source.suffix, "text")
    return f"---\nsearch:\n  exclude: true\n---\n# {source}\n\n``````{language}\n{text}\n``````\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
