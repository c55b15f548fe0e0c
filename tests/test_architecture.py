"""What import contracts (.importlinter) do not see: calls of the outside world, sizes, docstrings."""

import ast
import functools
import re
import subprocess
import sysconfig
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
DECLARED_NUMBER = re.compile(r"\b(double|long long) \w+\(.*\) except -")
IMPURE_CALLS = {"open", "print", "input"}

MAX_MODULES_IN_A_FOLDER = 16
MAX_MODULE_LINES = 350  # CONTRIBUTING.md: about 300
MAX_FUNCTION_LINES = 50  # without the docstring; CONTRIBUTING.md: about 30


def module_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {
    module_name(path): path
    for package in ("perceptron_core", "service")
    for path in sorted((ROOT / package).rglob("*.py"))
}


@functools.cache
def tree(module):
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


def imports_of_ours(module):
    """Name the project's modules that a module imports, anywhere in it."""
    found = set()
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found & MODULES.keys()


def closure(module):
    """Return the module and all of the project's that it imports, directly or not."""
    found, left = set(), {module}
    while left:
        name = left.pop()
        found.add(name)
        left |= imports_of_ours(name) - found
    return found


def functions(module):
    return [
        node for node in ast.walk(tree(module)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]


def names_called(module):
    return {
        node.func.id
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }


def length(node):
    """Count a function's lines without its docstring."""
    docstring = node.body[0] if ast.get_docstring(node) is not None else None
    documented = docstring.end_lineno - docstring.lineno + 1 if docstring else 0
    return node.end_lineno - node.lineno + 1 - documented


def test_the_processor_and_what_it_imports_do_no_io_and_read_no_clock():
    linter = Path(sysconfig.get_path("scripts")) / "lint-imports"
    found = subprocess.run(
        [linter, "--contract", "pure", "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "1 kept, 0 broken" in found.stdout


def test_the_processor_and_what_it_imports_open_and_print_nothing():
    calls = {module: names_called(module) & IMPURE_CALLS for module in closure("service.partition.processor")}
    assert {module: names for module, names in calls.items() if names} == {}


def test_no_import_is_relative():
    relative = {
        module
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ImportFrom) and node.level
    }
    assert relative == set()


def test_a_folder_is_read_at_a_glance():
    sizes = Counter(path.parent.relative_to(ROOT) for path in MODULES.values() if path.stem != "__init__")
    assert {folder: size for folder, size in sizes.items() if size > MAX_MODULES_IN_A_FOLDER} == {}


def test_files_fit_the_eye():
    lines = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: count for name, count in lines.items() if count > MAX_MODULE_LINES} == {}


def test_functions_fit_the_eye():
    long = [
        (module, node.name, length(node))
        for module in MODULES
        for node in functions(module)
        if length(node) > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_a_docstring_opens_every_module():
    assert [module for module in MODULES if not ast.get_docstring(tree(module))] == []


MIRRORS = {
    "perceptron_core": "perceptron_core",
    "service": "service",
    "tools/documentation": "docs",
    "tools/release": "release",
}
"""The folder of tests for each folder of sources."""

ELSEWHERE = {
    f"{package}/{path}": tests
    for package, lines in tomllib.loads((ROOT / "tests/tested_elsewhere.toml").read_text("utf-8")).items()
    for path, tests in lines.items()
}


def without_a_test_module_of_their_name():
    for package, mirror in MIRRORS.items():
        for path in sorted((ROOT / package).rglob("*.py")):
            place = path.relative_to(ROOT / package)
            if path.stem.startswith("__"):
                continue
            if not (ROOT / "tests" / mirror / place.with_name(f"test_{path.stem}.py")).exists():
                yield f"{package}/{place.as_posix()}"


def lines_about(module):
    """Name the line of the module and those of its folders, if they are in the table."""
    return {module, *(f"{folder}/" for folder in map(str, Path(module).parents))} & ELSEWHERE.keys()


def test_each_module_has_a_test_module_of_its_name_or_a_line_that_says_where_it_is_tested():
    assert [module for module in without_a_test_module_of_their_name() if not lines_about(module)] == []


def test_each_line_that_says_where_a_module_is_tested_is_needed_and_names_tests_that_exist():
    needed = set().union(*map(lines_about, without_a_test_module_of_their_name()))
    assert ELSEWHERE.keys() - needed == set()
    named = {test for tests in ELSEWHERE.values() for test in tests}
    assert {test for test in named if not (ROOT / "tests" / test).is_file()} == set()


def test_no_number_that_a_c_function_returns_stands_for_an_exception():
    # `except -1` takes each -1 for an exception, which is not there; `except? -1` asks first.
    for package in ("perceptron_core", "service"):
        for path in (ROOT / package).rglob("*.p[xy][dx]"):
            assert not DECLARED_NUMBER.search(path.read_text(encoding="utf-8")), path
