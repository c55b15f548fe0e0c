"""A file becomes the examples that the service would learn from, and counts of the rest."""

import json

import pytest

from service.errors import InputFileError
from service.files.labelled_examples import read_examples
from service.settings.load import load_settings


def settings(**given):
    return load_settings(given).settings


def test_unusable_examples_are_counted_and_reported():
    told = []
    messages = [
        b'{"id": "1", "text": "win", "label": true}',
        b'{"id": "2", "text": "win"}',
        b'{"id": "3", "label": true}',
        b"junk",
        b'{"id": "5", "features": {"a": 1e999}, "label": true}',
    ]
    found = read_examples(messages, settings(), "few", told.append)
    assert found.examples == [({"text=win": 1}, True)]
    assert found.describe() == {
        "skipped": None,
        "examples": 1,
        "unlabelled": 2,
        "rejected": 2,
        "rejected_by_reason": {"invalid_json": 1, "not_finite": 1},
    }
    assert [rejection.reason for rejection in told] == ["invalid_json", "not_finite"]


def test_reads_the_names_of_classes():
    messages = [json.dumps({"id": c, "text": c, "label": c}).encode() for c in "abc"]
    found = read_examples(messages, settings(classes="a,b,c"), "names")
    assert [truth for _, truth in found.examples] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        (b'{"id": "1", "text": "win", "label": "spam"}', "--classes ham,spam"),
        (b"junk", "schema event"),
        (b'{"id": "1", "text": "win"}', "schema event"),
    ],
)
def test_rejects_a_file_without_examples_with_a_hint(message, hint):
    with pytest.raises(InputFileError, match=r"pages: no labelled example") as rejected:
        read_examples([message], settings(), "pages")
    assert hint in rejected.value.hint
