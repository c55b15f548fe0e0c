"""The parameters that a class documents are those of its `__init__`, in the same order."""

import ast
import re

from tests.docs.documents import ROOT

SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^[^\n]+\n-+$|\Z)", re.MULTILINE | re.DOTALL)
HEADS = re.compile(r"^\S[^:\n]*", re.MULTILINE)


def test_documented_parameters_equal_init(subtests):
    paths = [*ROOT.glob("service/**/*.py"), *ROOT.glob("perceptron_core/**/*.py")]
    nodes = [(path, node) for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    for path, node in nodes:
        section = isinstance(node, ast.ClassDef) and SECTION.search(ast.get_docstring(node) or "")
        for init in node.body if section else ():
            if isinstance(init, ast.FunctionDef) and init.name == "__init__":
                given = init.args
                wanted = [*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg]
                names = re.findall(r"\w+", " ".join(HEADS.findall(section[1])))
                with subtests.test(f"{path.relative_to(ROOT)}: {node.name}"):
                    assert names == [each.arg for each in wanted[1:] if each]
