"""The image is built of what is tested, on a base that stays, and again only where something changed."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_base_is_pinned_by_its_digest():
    assert re.search(r"^ARG PYTHON=3\.\d+-slim-\w+@sha256:[0-9a-f]{64}$", DOCKERFILE, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"python:${PYTHON}", "compiler"}


@pytest.mark.parametrize("extras", ["", "confluent,schemas", "schemas"])
def test_the_image_installs_requirements_of_package_and_chosen_extras(extras):
    (script,) = re.findall(r"> requirements\.txt <<'EOF'\n(.*?)^EOF$", DOCKERFILE, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-", extras], input=script, cwd=ROOT, capture_output=True, text=True, check=True
    )
    optional = PROJECT["optional-dependencies"]
    wanted = [
        *PROJECT["dependencies"],
        *(each for name in filter(None, extras.split(",")) for each in optional[name]),
    ]
    assert done.stdout.splitlines() == wanted


def test_packages_from_an_index_have_the_releases_of_the_tests():
    taken = re.findall(r"pip (?:--\S+ \S+ )?(?:wheel|install)[^&]*?(?=\n[A-Z#\n]|&&|\Z)", DOCKERFILE)
    assert len(taken) == 5
    for command in taken:
        assert "--constraint constraints.txt" in command or "--no-deps" in command or "--no-index" in command
