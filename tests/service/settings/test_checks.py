"""Values of settings are taken as they are, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from service.settings.forms import (
    MAX_NGRAM,
    check_broker,
    check_classes,
    check_http,
    check_ngrams,
    check_topic_name,
)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (check_broker, ""),
        (check_broker, "kafka://host:9092"),
        (check_topic_name, ""),
        (check_topic_name, "a." * 124 + "a"),
        (check_classes, ()),
        (check_classes, ("ham", "spam")),
        (check_ngrams, (1, MAX_NGRAM)),
        (check_http, ""),
        (check_http, "[::1]:8000"),
    ],
)
def test_a_value_that_is_taken_stays_as_it_is(check: Callable[[Any], object], value: object) -> None:
    assert check(value) is value


@pytest.mark.parametrize(
    ("check", "value", "expected"),
    [
        (check_broker, "http://host", "expected kafka://"),
        (check_broker, "kafka://user:secret@host:9092", "credentials belong in"),
        (check_topic_name, "..", "1 to 249"),
        (check_topic_name, "a" * 250, "1 to 249"),
        (check_topic_name, "a b", "1 to 249"),
        (check_classes, ("ham",), "at least two"),
        (check_classes, ("ham", "ham"), "at least two"),
        (check_classes, ("ham", ""), "at least two"),
        (check_ngrams, (0, 1), "1 <= MIN"),
        (check_ngrams, (2, 1), "1 <= MIN"),
        (check_ngrams, (1, MAX_NGRAM + 1), "1 <= MIN"),
        (check_http, "localhost", "expected host:port"),
    ],
)
def test_any_other_value_is_refused_with_what_was_expected(
    check: Callable[[Any], object], value: object, expected: str
) -> None:
    with pytest.raises(ValueError, match=expected):
        check(value)
