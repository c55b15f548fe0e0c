"""The version is written in one place."""

import re
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from click.testing import CliRunner

import perceptron_core
from service.cli.app import cli
from service.version import is_compiled

ROOT = Path(__file__).parents[2]


def test_everything_that_tells_a_version_tells_the_same():
    told = CliRunner().invoke(cli, ["--version"], prog_name="perceptron").output.split()[1]
    assert told == perceptron_core.__version__ == metadata.version("online-perceptron")


def test_no_other_file_of_the_packages_repeats_it():
    stated = re.compile(rf"""["']{re.escape(perceptron_core.__version__)}["']""")
    files = [path for package in ("perceptron_core", "service") for path in (ROOT / package).rglob("*.py")]
    repeating = [path.name for path in files if stated.search(path.read_text(encoding="utf-8"))]
    assert repeating == ["version.py"]


def test_a_core_without_machine_code_reports_that(tmp_path, monkeypatch):
    (tmp_path / "perceptron_core").mkdir()
    for name in ("__init__.py", "validation.py"):
        (tmp_path / "perceptron_core" / name).touch()
    monkeypatch.setattr("service.version._core", lambda: tmp_path / "perceptron_core")
    assert not is_compiled()
    (tmp_path / "perceptron_core" / f"validation{EXTENSION_SUFFIXES[0]}").touch()
    assert is_compiled()
