"""The version is written in one place."""

import re
import tomllib
from importlib import metadata
from pathlib import Path

from click.testing import CliRunner

import perceptron_core
from service.cli.app import cli

ROOT = Path(__file__).parents[2]


def test_the_package_takes_its_version_from_the_core():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" not in project["project"]
    assert (
        project["tool"]["setuptools"]["dynamic"]["version"]["attr"] == "perceptron_core.version.__version__"
    )


def test_everything_that_tells_a_version_tells_the_same():
    told = CliRunner().invoke(cli, ["--version"], prog_name="perceptron").output.split()[-1]
    assert told == perceptron_core.__version__ == metadata.version("online-perceptron")


def test_no_other_file_of_the_packages_repeats_it():
    stated = re.compile(rf"""["']{re.escape(perceptron_core.__version__)}["']""")
    files = [path for package in ("perceptron_core", "service") for path in (ROOT / package).rglob("*.py")]
    repeating = [path.name for path in files if stated.search(path.read_text(encoding="utf-8"))]
    assert repeating == ["version.py"]
