"""Where the tests, and the processes they start, find modules: what is installed comes before what lies here.

So `make test` tests the wheel; with an editable installation, what lies here is what is installed.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))
os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
os.environ["PYTHONSAFEPATH"] = "1"


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Iterator[object]:
    """Collect doctests of the modules alone that have an example."""
    collectors = yield
    has_example = b">>>" in file_path.read_bytes()
    return [each for each in collectors if has_example or type(each) is pytest.Module]
