"""`schema` prints what the service itself checks against."""

import json

import pytest

from service.messages.schema import KINDS, json_schema


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_that_of_the_message(perceptron, kind):
    result = perceptron("schema", kind)
    assert result.exit_code == 0
    assert json.loads(result.stdout) == json_schema(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_names_the_dialect_it_is_written_in(kind):
    assert next(iter(json_schema(kind).items())) == (
        "$schema",
        "https://json-schema.org/draft/2020-12/schema",
    )
