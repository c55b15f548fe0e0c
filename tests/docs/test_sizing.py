"""The guide to sizing has the figures that were measured."""

import pytest

from tools.documentation.build import ROOT
from tools.documentation.sizing import table


@pytest.mark.parametrize("what", ["cost", "latency", "deploy"])
def test_a_table_of_the_guide_has_the_medians_of_the_results(what):
    page = (ROOT / "docs" / "guides" / "sizing.md").read_text(encoding="utf-8")
    assert "\n".join(table(what)) in page, "print them: python -m tools.documentation.sizing"
