"""The page's files: all from this machine, with what is needed to read them."""

import re
from pathlib import Path

import pytest

from service.web import page

FOLDER = Path(page.__file__).with_name("static")
OURS = sorted(path for path in FOLDER.iterdir() if path.suffix in {".html", ".css", ".js", ".svg"})
NAMES_OF_NO_HOST = {"http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"}
"""The name of a vocabulary, and where the licence says that the program is from; nothing is fetched."""


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_no_file_names_another_host(path):
    text = path.read_text(encoding="utf-8")
    assert set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]+[\w./-]*", text)) <= NAMES_OF_NO_HOST


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.name)
def test_no_script_and_no_style_stands_in_the_page(path):
    """What the content security policy would refuse."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        assert not re.search(r"<script>|<style|\sstyle=|\son\w+=", text)


@pytest.mark.parametrize("name", ["page.html", "docs.html"])
def test_whatever_a_page_refers_to_is_there(client, name):
    referred = re.findall(r'(?:src|href)="(/[^"]*)"', (FOLDER / name).read_text(encoding="utf-8"))
    assert referred
    for address in referred:
        assert client.get(address).status_code == 200, address


def test_every_module_that_is_imported_is_there():
    for path in FOLDER.glob("*.js"):
        for name in re.findall(r'from "\./([\w.]+)"', path.read_text(encoding="utf-8")):
            assert (FOLDER / name).exists(), f"{path.name} imports {name}"


def test_the_chart_library_comes_with_its_licence():
    assert "MIT License" in (FOLDER / "uPlot.LICENSE").read_text(encoding="utf-8")
    assert "v1.6.32" in (FOLDER / "uPlot.min.js").read_text(encoding="utf-8")[:100]


def test_to_curl_the_root_explains_the_api(client):
    told = client.get("/", headers={"User-Agent": "curl/8.5.0"})
    assert told.headers["content-type"] == "text/plain; charset=utf-8"
    assert f"curl '{str(client.base_url).rstrip('/')}/predict?text=" in told.text
    assert client.get("/").headers["content-type"].startswith("text/html")
