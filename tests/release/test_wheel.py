"""The wheel is tagged for the platforms that it runs on."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT_WITH = ("setup.py", "pyproject.toml", "README.md", "LICENSE")
COMPILED = "learning_rates.pxd"


@pytest.fixture
def build(tmp_path):
    """Return a function that builds the wheel of a core with one compiled module; it returns the wheel."""
    source, out = tmp_path / "source", tmp_path / "out"
    shutil.copytree(
        ROOT / "perceptron_core",
        source / "perceptron_core",
        ignore=lambda _, names: {
            name for name in names if name.endswith((".so", ".pxd", ".pyx")) and name != COMPILED
        },
    )
    for name in BUILT_WITH:
        shutil.copy(ROOT / name, source)

    def build(**variables):
        environment = {name: value for name, value in os.environ.items() if name != "PERCEPTRON_UNCOMPILED"}
        command = [sys.executable, "setup.py", "--quiet", "bdist_wheel", "--dist-dir", str(out)]
        subprocess.run(command, cwd=source, env=environment | variables, check=True, capture_output=True)
        (wheel,) = out.iterdir()
        return wheel

    return build


@pytest.mark.parametrize(
    "why", [{"PERCEPTRON_UNCOMPILED": "1"}, {"CC": "false"}], ids=["asked", "no compiler"]
)
def test_wheel_without_machine_code_is_for_any_platform(build, why):
    wheel = build(**why)
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        (form,) = (packed.read(name).decode() for name in names if name.endswith("/WHEEL"))
    assert "perceptron_core/validation.py" in names
    assert not [name for name in names if name.endswith((".so", ".pyd"))]
    assert "Root-Is-Purelib: true" in form


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("cc"), reason="no compiler here")
def test_wheel_with_machine_code_is_for_its_build_platform(build):
    assert build().name.endswith(f"{sysconfig.get_platform().replace('-', '_').replace('.', '_')}.whl")
