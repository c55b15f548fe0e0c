"""A pattern that finds tokens takes time in proportion to the text, or is refused."""

import re
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from perceptron_core import TextHasher
from perceptron_core.text.patterns import compile_pattern
from tests.support.example_counts import n_examples

TAKEN = [
    r"\w+", r"\w\w+", r"\w{2,}", r"(?u)\b\w\w+\b", r"\b[a-z]+\b", r"\b[A-Za-z]{2,}\b", r"\w+\b", r"\S+",
    r"[^\s]+", r".", r"\w*", r"\w+?", r"[a-z]+(?:'[a-z]+)?", r"#?\w+", r"https?://\S+|\w+",
    r"\d+(?:\.\d+)?|\w+", r"\w{2,30}", r"\w+(?:-\w+)*", r"(?i)[a-z0-9]+", r"(?<!\w)\w+",
    r"<[^>]{1,99}>|\w+", r"\w+|[^\w\s]", r"(?:a\w*)+", r"(\w)\w+",
    r"\d{1,3}(?:\.\d{1,3}){3}|\w+", r"(\w+\s?)+",
]  # fmt: skip
REFUSED = [
    r"(\w+\s?)+!", r"(a+)+b", r"\w+!", r"\w+\w+!", r"<[^>]+>|\w+", r"(a|aa)+$", r"(?=\w+)\w",
    r"(\w{1,50}\s?){1,50}!", r"(?:\w+\s?){3,}", "a?" * 20 + "a" * 20, r".*x", r"[a-z]+\b", r"(\w+)\1",
    r"(x+x+)+y", r"\w+\d", r"(?:a+,)+", r"\w{99999}", r"(?:a|b|ab){12}c", r"\w++!", r"\b(?:a+)+\b",
]  # fmt: skip


def test_without_the_parser_only_the_usual_pattern_is_taken(monkeypatch):
    monkeypatch.setattr("perceptron_core.text.patterns._parser", None)
    assert compile_pattern(r"\w+").findall("a b") == ["a", "b"]
    with pytest.raises(ValueError, match="re of this Python has no _parser"):
        compile_pattern(r"\w\w+")


atoms = st.sampled_from(
    [r"\w", "a", "b", r"\s", "[ab]", ".", r"\d", r"\b", "(?:a|ab)", "[^a]", "(?=a)", "(?<!b)"]
)
quantifiers = st.sampled_from(["", "", "+", "*", "?", "{2,}", "{1,3}", "+?", "{3}"])


def grown(inner):
    piece = st.builds(lambda body, quantifier: f"(?:{body}){quantifier}", inner, quantifiers)
    return st.lists(piece, min_size=1, max_size=3).map("".join) | st.tuples(inner, inner).map("|".join)


patterns = st.recursive(st.builds("(?:{}){}".format, atoms, quantifiers), grown, max_leaves=6)


@pytest.mark.parametrize("pattern", TAKEN)
def test_a_pattern_that_cannot_backtrack_is_taken_and_means_what_it_meant(pattern):
    text = "Win <b>2.50</b> now, it's a well-known #prize! http://x.org 10.0.0.1 naïve 語"
    found = [match.group() for match in compile_pattern(pattern).finditer(text)]
    assert found == [match.group() for match in re.finditer(pattern, text)]


@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_that_may_backtrack_without_bound_is_refused(pattern):
    with pytest.raises(ValueError, match="may take"):
        compile_pattern(pattern)


@pytest.mark.parametrize("text", ["a", "a ", "1.", "<", "a-", "'", "ab1 ", "http://"])
def test_the_longest_message_takes_seconds_at_most(text):
    for pattern in TAKEN:
        began = time.process_time()
        for _ in compile_pattern(pattern).finditer(text * (500_000 // len(text))):
            pass
        assert time.process_time() - began < 10, pattern


@settings(max_examples=n_examples(300))
@given(pattern=patterns, text=st.text("ab 1", min_size=1, max_size=4))
def test_whatever_is_taken_is_quick_on_any_text(pattern, text):
    try:
        compiled = compile_pattern(pattern)
    except ValueError:
        assume(False)
    for end in ("", "!", "b"):
        began = time.process_time()
        for _ in compiled.finditer(text * (20_000 // len(text)) + end):
            pass
        assert time.process_time() - began < 5


def test_what_is_no_regular_expression_is_refused():
    with pytest.raises(ValueError, match="not a regular expression"):
        compile_pattern("(")


def test_a_hasher_refuses_such_a_pattern_when_it_is_made():
    with pytest.raises(ValueError, match="without bound"):
        TextHasher(10, token_pattern=r"(\w+\s?)+!")
