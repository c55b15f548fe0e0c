"""The version has one home, workflows run existing targets, and a missing audit is reported."""

import re
import subprocess
import tomllib
from importlib import metadata
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

import perceptron_core
from service.cli.app import cli
from service.version import is_compiled
from tools.release.audit import verdict

ROOT = Path(__file__).parents[2]


def test_all_version_numbers_agree():
    told = CliRunner().invoke(cli, ["--version"], prog_name="perceptron").output.split()[1]
    assert told == perceptron_core.__version__ == metadata.version("online-perceptron")


def test_version_is_written_in_one_file_only():
    stated = re.compile(rf"""["']{re.escape(perceptron_core.__version__)}["']""")
    files = [path for package in ("perceptron_core", "service") for path in (ROOT / package).rglob("*.py")]
    assert [path.name for path in files if stated.search(path.read_text(encoding="utf-8"))] == ["version.py"]


def test_core_without_machine_code_reports_that(tmp_path, monkeypatch):
    (tmp_path / "perceptron_core").mkdir()
    for name in ("__init__.py", "validation.py"):
        (tmp_path / "perceptron_core" / name).touch()
    monkeypatch.setattr("service.version._core", lambda: tmp_path / "perceptron_core")
    assert not is_compiled()
    (tmp_path / "perceptron_core" / f"validation{EXTENSION_SUFFIXES[0]}").touch()
    assert is_compiled()


SOUND = {"name": "click", "version": "8.5.1", "vulns": []}
UNKNOWN = {"name": "river", "skip_reason": "Dependency not found"}
OURS = {"name": "online-perceptron", "skip_reason": "Dependency not found"}
BAD = {"name": "kafka-python", "version": "1.0", "vulns": [{"id": "PYSEC-1"}, {"id": "PYSEC-2"}]}


def test_audited_packages_pass_and_unknown_ones_are_counted():
    assert verdict([SOUND, UNKNOWN, OURS]) == (
        "no known vulnerability in 1 packages; 1 are unknown to the index",
        0,
    )


def test_missing_audit_is_a_warning_or_an_error_if_required():
    text, code = verdict([UNKNOWN, UNKNOWN, OURS])
    assert text.startswith("warning: NOT AUDITED: the advisory service knows none of 2 packages\nhint: ")
    assert (code, verdict([], is_required=True)[1]) == (0, 1)


def test_vulnerable_package_fails_with_its_advisories():
    text, code = verdict([SOUND, BAD])
    assert code == 1
    assert "kafka-python 1.0: PYSEC-1" in text
    assert "kafka-python 1.0: PYSEC-2" in text


PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_runs_targets_and_scripts_that_exist(workflow):
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    run = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    chosen = [name for job in jobs for name in job.get("strategy", {}).get("matrix", {}).get("target", [])]
    called = [*re.findall(r"^make ([\w-]+)", "\n".join(run), re.MULTILINE), *chosen]
    assert [name for name in called if name not in targets] == []
    assert [line for line in run if line.startswith(".") and not (ROOT / line).is_file()] == []


def test_each_target_of_make_names_tests_that_exist():
    targets = ("test-uncompiled", "test-sanitized", "test-lowest")
    shown = subprocess.run(["make", "-n", *targets], cwd=ROOT, check=True, capture_output=True, text=True)
    named = set(re.findall(r" (tests/\S+)", shown.stdout))
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_wheels_are_built_for_every_declared_python():
    named = [each.rpartition(":: ")[2] for each in PYPROJECT["project"]["classifiers"]]
    minors = [int(each[2:]) for each in named if re.fullmatch(r"3\.\d+", each)]
    assert PYPROJECT["tool"]["cibuildwheel"]["build"] == f"cp31[{minors[0] % 10}-{minors[-1] % 10}]-*"
    assert PYPROJECT["project"]["requires-python"] == f">=3.{minors[0]}"
