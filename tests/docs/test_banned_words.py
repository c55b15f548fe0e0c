"""No word that the vocabulary replaces comes back: `banned_words.toml` lists them with their replacements."""

import ast
import re
import tomllib
from itertools import chain
from pathlib import Path

import pytest

import perceptron_core
from service.messages.schema import KINDS
from service.settings.fields import Settings, setting_values
from tests.docs.documents import ROOT
from tools.documentation.build import written_pages
from tools.documentation.references import command_tree, exported_families, help_of

WORDS = tomllib.loads(Path(__file__).with_name("banned_words.toml").read_text(encoding="utf-8"))["word"]
CODE = [
    path
    for folder in ("service", "perceptron_core", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
TREES = {str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8")) for path in CODE}
DEFINITIONS = ast.FunctionDef | ast.ClassDef


def docs():
    return {str(page): (ROOT / page).read_text(encoding="utf-8") for page in written_pages()}


def help_texts():
    return {path: help_of(path, command) for path, command in command_tree()}


def messages():
    """Return every text of the code that is not a docstring and of `removed.toml`, by its place."""
    found = {}
    for path, tree in TREES.items():
        docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and " " in node.value and id(node) not in docstrings:
                found[f"{path}:{node.lineno}:{node.col_offset}"] = node.value
    return found | tomllib.loads((ROOT / "service/settings/removed.toml").read_text(encoding="utf-8"))


def names():
    options = [option for _, command in command_tree() for each in command.params for option in each.opts]
    fields = [name for message in KINDS.values() for name in message.model_fields]
    metrics = [family.name for family in exported_families()]
    trees = [tree for path, tree in TREES.items() if path.startswith("service/")]
    dicts = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    keys = [key.value for each in dicts for key in each.keys if isinstance(key, ast.Constant)]
    public = chain(setting_values(Settings()), options, fields, metrics, keys, perceptron_core.__all__)
    return {str(name): as_words(str(name)) for name in public}


def code():
    defined = {
        f"{path}:{node.lineno}": as_words(node.name)
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, DEFINITIONS)
    }
    return defined | {path: as_words(Path(path).stem) for path in TREES}


def as_words(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[_.-]+", " ", name)


@pytest.mark.parametrize("source", [docs, help_texts, messages, names, code])
def test_no_banned_word_is_used(source):
    found = []
    texts = source()
    assert len(texts) > 20
    for word in WORDS:
        if source.__name__.removesuffix("_texts") not in word.get(
            "where", [source.__name__.removesuffix("_texts")]
        ):
            continue
        for place, text in texts.items():
            rest = re.sub(word["allowed"], "", text, flags=re.IGNORECASE) if "allowed" in word else text
            found += [
                f"{place}: {each[0]!r}; use: {word['use']}"
                for each in re.finditer(rf"\b(?:{word['pattern']})\b", rest, re.IGNORECASE)
            ]
    assert not found, "\n".join(found)
