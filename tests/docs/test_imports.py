"""The pictures of the imports, and the page that shows the folders."""

import pytest

from tools.documentation.build import ROOT
from tools.documentation.imports import FOLDER, PACKAGES, imports, layers, picture

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_picture_shows_the_imports_there_are(package):
    drawn = (FOLDER / f"imports-{package}.svg").read_text(encoding="utf-8")
    assert drawn == picture(package), "redraw it: make docs-plots"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_number_lies_above_the_diagonal(package):
    order = layers(package)
    assert all(order.index(importer) > order.index(imported) for importer, imported in imports(package))


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_is_on_the_page(package):
    folders = [path.name for path in (ROOT / package).iterdir() if (path / "__init__.py").exists()]
    assert [folder for folder in folders if f"`{folder}/`" not in PAGE] == []
