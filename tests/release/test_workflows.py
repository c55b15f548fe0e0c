"""The workflows run what there is, and build for what the package says it runs on."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_targets_and_scripts_that_exist(workflow):
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    run = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    chosen = [name for job in jobs for name in job.get("strategy", {}).get("matrix", {}).get("target", [])]
    called = [*re.findall(r"^make ([\w-]+)", "\n".join(run), re.MULTILINE), *chosen]
    assert [name for name in called if name not in targets] == []
    assert [line for line in run if line.startswith(".") and not (ROOT / line).is_file()] == []


def test_wheels_are_built_for_each_python_that_is_named():
    named = [each.rpartition(":: ")[2] for each in PYPROJECT["project"]["classifiers"]]
    minors = [int(each[2:]) for each in named if re.fullmatch(r"3\.\d+", each)]
    assert PYPROJECT["tool"]["cibuildwheel"]["build"] == f"cp31[{minors[0] % 10}-{minors[-1] % 10}]-*"
    assert PYPROJECT["project"]["requires-python"] == f">=3.{minors[0]}"
