"""What import contracts (.importlinter) do not see: calls of the outside world, sizes, docstrings."""

import ast
import functools
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
DECLARED_NUMBER = re.compile(r"\b(double|long long) \w+\(.*\) except -")
IMPURE_CALLS = {"open", "print", "input"}

MAX_FILE_LINES = 600
MIN_FILE_LINES = 40
MAX_SHORT_FILES = 0  # may only fall
MAY_BE_SHORT = {"__init__", "__main__", "version"}
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


def file_lengths():
    """Return the number of lines of each Python and Cython source."""
    return {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for package in ("perceptron_core", "service")
        for path in (ROOT / package).rglob("*.py*")
        if path.suffix in {".py", ".pyx"} and path.stem not in MAY_BE_SHORT
    }


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


def test_processor_and_what_it_imports_open_and_print_nothing():
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


def test_no_file_is_longer_than_600_lines():
    assert {name: count for name, count in file_lengths().items() if count > MAX_FILE_LINES} == {}


def test_number_of_files_below_40_lines_does_not_grow():
    short = {name for name, count in file_lengths().items() if count < MIN_FILE_LINES}
    assert len(short) <= MAX_SHORT_FILES, short


def test_functions_are_short():
    long = [
        (module, node.name, length(node))
        for module in MODULES
        for node in functions(module)
        if length(node) > MAX_FUNCTION_LINES
    ]
    assert long == []


def test_every_module_has_a_docstring():
    assert [module for module in MODULES if not ast.get_docstring(tree(module))] == []


def protocols():
    """Name the protocols that the project declares."""
    return {
        node.name
        for module in MODULES
        for node in ast.walk(tree(module))
        if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases)
    }


def types_cast_to(module):
    for node in ast.walk(tree(module)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "cast":
            name = node.args[0]
            yield name.value if isinstance(name, ast.Constant) else ast.unparse(name)


def test_nothing_is_cast_to_a_protocol():
    # A cast hides what a partial object lacks: declare a narrower protocol instead.
    declared = protocols()
    found = {
        (module, name)
        for module in MODULES
        for name in types_cast_to(module)
        if name.split("[")[0] in declared
    }
    assert found == set()


def test_no_c_function_returns_a_number_for_an_exception():
    # `except -1` takes each -1 for an exception, which is not there; `except? -1` asks first.
    for package in ("perceptron_core", "service"):
        for path in (ROOT / package).rglob("*.p[xy][dx]"):
            assert not DECLARED_NUMBER.search(path.read_text(encoding="utf-8")), path
