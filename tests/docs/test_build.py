"""The site builds without a broken link, and asks nothing of the network when it is read."""

import re
import subprocess
import sys

import griffe
import markdown
import pytest

from tools.documentation import build


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    config = build.assemble(tmp_path_factory.mktemp("documentation"))
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", config.name]
    done = subprocess.run(command, cwd=config.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return config.parent / "site"


@pytest.mark.slow
def test_every_page_of_the_navigation_is_built(site):
    entries = re.findall(
        r": ([\w/-]+)\.md$", (site.parent / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(entries) > 20
    for entry in entries:
        assert (site / f"{entry}.html").exists(), entry


def test_former_addresses_lead_to_pages(tmp_path):
    pages, site = build.assemble(tmp_path / "build").parent / "docs", tmp_path / "site"
    for page in pages.rglob("*.md"):
        build._write(site / page.relative_to(pages).with_suffix(".html"), "")
    build.write_redirects(site)
    moved = (site / "guides" / "http.html").read_text(encoding="utf-8")
    assert 'url=../reference/http.html"' in moved


def test_docstrings_of_the_core_fit_their_signatures(caplog):
    core = griffe.load(
        "perceptron_core", search_paths=[build.ROOT], allow_inspection=False, docstring_parser="numpy"
    )
    assert "AutoClassifier" in core.as_json(full=True)  # parses all docstrings
    assert caplog.messages == []


@pytest.mark.slow
def test_pages_load_nothing_from_other_hosts(site):
    loading = re.compile(r"""<(?:script|img|link|iframe)[^>]*?(?:src|href)=["']?(https?:[^"' >]+)""")
    for page in site.rglob("*.html"):
        assert not loading.findall(page.read_text(encoding="utf-8")), page


def test_escaped_brace_in_a_formula_is_found(tmp_path):
    for name, formula in (("escaped", r"$y \in \{0, 1\}$"), ("named", r"$y \in \lbrace 0, 1 \rbrace$")):
        html = markdown.markdown(formula, extensions=["l2m4m:LaTeX2MathMLExtension"])
        (tmp_path / f"{name}.html").write_text(html, encoding="utf-8")
    assert build.pages_with_placeholders(tmp_path) == ["escaped.html"]


def test_no_formula_of_a_page_loses_a_character(tmp_path):
    for page in build.written_pages():
        text = (build.ROOT / page).read_text(encoding="utf-8")
        html = markdown.markdown(text, extensions=["l2m4m:LaTeX2MathMLExtension"])
        (tmp_path / f"{page.as_posix().replace('/', '-')}.html").write_text(html, encoding="utf-8")
    assert build.pages_with_placeholders(tmp_path) == []


def test_link_to_a_missing_file_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("[gone](../tests/gone.py)", encoding="utf-8")
    for name in build.PROJECT_PAGES:
        (tmp_path / name).write_text("", encoding="utf-8")
    monkeypatch.setattr(build, "ROOT", tmp_path)
    with pytest.raises(FileNotFoundError, match=r"docs/index\.md links to tests/gone\.py"):
        build.assemble(tmp_path / "build")
