"""Importing the core is quick, and its public names exist: nothing heavy before it is needed."""

import subprocess
import sys

import perceptron_core

HEAVY = ("numpy", "scipy", "narwhals", "pandas", "polars", "sklearn", "river.optim", "river.utils")


def imported_by(program):
    """Run a program in a process of its own, and name what it imports of what is heavy."""
    report = f"\nimport sys; print(*[m for m in {HEAVY} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", program + report], capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split())


def test_learning_and_predicting_need_no_optional_package():
    program = (
        "from perceptron_core.formats.model_bytes import learners\n"
        "for cls in learners().values():\n"
        "    model = cls()\n"
        "    model.learn_one({'a': 1.0}, True); model.predict_one({'a': 1.0})\n"
    )
    assert imported_by(program) == set()


def test_structured_perceptron_imports_only_numpy():
    assert imported_by("from perceptron_core import StructuredPerceptron") == {"numpy"}


def test_all_is_sorted_and_everything_in_it_exists():
    constants_first = sorted(
        perceptron_core.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )
    assert perceptron_core.__all__ == constants_first
    assert all(hasattr(perceptron_core, name) for name in perceptron_core.__all__)
