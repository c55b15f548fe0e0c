"""Sentences of Pydantic and click reach no user: each that our models and options can raise has ours."""

import tomllib
from pathlib import Path

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

import service.formats.registry
import service.web.app
import service.web.inputs
import service.web.views
from service.cli.app import cli
from service.errors import click_sentence, pydantic_sentence
from service.messages.json_values import read_value
from service.messages.rejection import Rejection
from service.partition.forms import _FORM
from service.settings.fields import Settings

EXPECTED = tomllib.loads((Path(service.__file__).parent / "errors.toml").read_text())["expected"]
OURS = {"value_error", "settings_disagree", "missing", "extra_forbidden", "unexpected_keyword_argument"}
BY_KIND = {
    "bool": ("bool_type", "bool_parsing"),
    "bytes": ("bytes_type",),
    "dataclass": ("dataclass_type", "missing", "unexpected_keyword_argument"),
    "dict": ("dict_type",),
    "enum": ("enum",),
    "float": ("float_type", "float_parsing", "finite_number"),
    "int": ("int_type", "int_parsing", "int_parsing_size", "int_from_float", "finite_number"),
    "is-instance": ("is_instance_of",),
    "list": ("list_type",),
    "literal": ("literal_error",),
    "model": ("model_type", "model_attributes_type"),
    "named-tuple": ("named_tuple_type",),
    "none": ("none_required",),
    "str": ("string_type", "string_sub_type", "string_unicode"),
    "tuple": ("tuple_type",),
    "typed-dict": ("dict_type", "invalid_key", "missing", "extra_forbidden"),
}
"""Of each kind of schema: the errors it may raise."""
WITHOUT = {"any", "chain", "default", "definition-ref", "definitions", "json-or-python", "lax-or-strict"}
WITHOUT |= {"function-after", "function-before", "function-plain", "function-wrap", "nullable", "union"}
WITHOUT |= {"model-fields", "model-field", "typed-dict-field", "named-tuple-field", "arguments", "call"}
WITHOUT |= {"dataclass-args", "dataclass-field"}
WITHOUT |= {"no-info", "with-info", "to-string", "include-exclude-dict", "include-exclude-sequence"}
BY_BOUND = {"ge": "greater_than_equal", "gt": "greater_than", "le": "less_than_equal", "lt": "less_than"}
SIZED = {"str": "string_too_", "dict": "too_", "list": "too_", "tuple": "too_"}


def raised_by(schema):
    """Yield the types of the errors that a schema may raise."""
    if isinstance(schema, (list, tuple)):
        for each in schema:
            yield from raised_by(each)
    if not isinstance(schema, dict):
        return
    kind = schema.get("type")
    if isinstance(kind, str) and kind not in WITHOUT:
        yield from BY_KIND[kind]
        yield from (error for bound, error in BY_BOUND.items() if bound in schema)
        yield from (f"{SIZED[kind]}short" for _ in range("min_length" in schema))
        yield from (f"{SIZED[kind]}long" for _ in range("max_length" in schema))
    for name, each in schema.items():
        if name not in {"metadata", "serialization", "default"}:
            yield from raised_by(each)


def models(kind=BaseModel):
    for each in kind.__subclasses__():
        if each.__module__.startswith("service."):
            yield each
        yield from models(each)


def test_every_error_that_pydantic_may_raise_has_a_sentence():
    schemas = [*(each.__pydantic_core_schema__ for each in models()), _FORM.core_schema]
    raised = {error for schema in schemas for error in raised_by(schema)}
    assert {"literal_error", "less_than_equal", "string_too_long", "named_tuple_type"} <= raised
    assert raised - EXPECTED.keys() - OURS == set()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"hash_bits": 31}, "expected a number of at most 30"),
        ({"commit_interval_seconds": 0}, "expected a number above 0"),
        ({"text": "foo"}, "expected 'words', 'chars' or 'scripts'"),
        ({"classes": 7}, "expected a list, got a number"),
        ({"group": ["a"]}, "expected a string, got a list"),
        ({"nope": 1}, "unknown setting"),
        ({"group": ""}, "expected at least 1 characters"),
    ],
)
def test_invalid_setting_is_rejected_with_the_expected_value(given, said):
    with pytest.raises(ValidationError) as rejected:
        Settings(**given)
    assert pydantic_sentence(rejected.value.errors()[0], "setting") == said


def test_error_outside_the_table_hides_pydantics_sentence():
    error = {"type": "url_parsing", "msg": "Input should be a valid URL", "input": 1}
    assert pydantic_sentence(error) == "expected another value"


@given(st.text(alphabet='{}[]":,\\utrue0dc-1.eE \n\t', max_size=12))
def test_invalid_json_is_rejected_with_the_expected_characters(text):
    try:
        read_value(text.encode())
    except Rejection as rejection:
        assert ", got " in rejection.message  # noqa: PT017 - most texts are invalid


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("serve --hash-bit 3", "unknown option '--hash-bit'; did you mean '--hash-bits'?"),
        ("serv", "unknown command 'serv'; did you mean 'serve'?"),
        ("produce", "missing argument 'FILE|-'"),
        ("export m", "missing option '--format'; expected json, sklearn, onnx"),
        ("export m --format a", "'--format': expected one of 'json', 'sklearn', 'onnx', got 'a'"),
        ("train m --seed a", "'--seed': expected a whole number, got 'a'"),
        ("train m --seed -1", "'--seed': expected a number (at least 0), got -1"),
        ("produce m --rate 0", "'--rate': expected a number (above 0), got 0.0"),
        ("train m --holdout 1", "'--holdout': expected a number (0 to below 1), got 1.0"),
        ("train m --holdout b", "'--holdout': expected a number, got 'b'"),
        ("serve --broker", "'--broker': expected a value"),
        ("serve --exit-at-end=3", "'--exit-at-end': expected no value"),
        ("consume a b", "unexpected argument b"),
        ("consume a --from middle", "'--from': expected start, end or an offset, got 'middle'"),
        ("serve --model-param x", "'--model-param': expected key=value, got 'x'"),
    ],
)
def test_wrong_command_line_is_rejected_with_the_expected_value(arguments, said):
    with pytest.raises(click.ClickException) as rejected:
        click.Group.main(cli, arguments.split(), standalone_mode=False)
    assert click_sentence(rejected.value.format_message().replace("\n\t", " ")) == said
