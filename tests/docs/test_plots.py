"""The pictures show what the code does: the numbers after each are computed again."""

import re

import pytest

from tools.documentation.build import ROOT, written_pages
from tools.documentation.plots import CHARTS, FOLDER

MAX_BYTES = 80_000


def digest_in(path):
    return re.search(r"<dc:description>(\w+)</dc:description>", path.read_text(encoding="utf-8"))[1]


@pytest.mark.parametrize("name", CHARTS)
def test_picture_shows_what_the_learners_do_now(name):
    assert digest_in(FOLDER / f"{name}.svg") == CHARTS[name]().digest(), "redraw it: make docs-plots"


def test_every_picture_is_drawn_by_the_script_small_and_shown():
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in written_pages())
    assert {path.stem for path in FOLDER.iterdir()} == set(CHARTS)
    for path in FOLDER.iterdir():
        assert path.stat().st_size < MAX_BYTES
        assert f"plots/{path.name})" in text
