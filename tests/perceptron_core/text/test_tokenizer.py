import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.text.tokenizer import Tokenizer

RUNS_OF_ONE_CLASS = [r"\w+", r"\S+", r"\W+", r"[a-z0-9]+", r"[^ ]+", r"[\w'-]+", r"[^\W\d_]+", "[а-яё]+"]
OTHER_PATTERNS = [
    r"\b\w\w+\b",
    r"(\w)\w+",
    r"\w*",
    r"[\]a]+",
    r"[a^]+",
    r"\w{2}",
    "a|b",
    r"\w+?",
    "(?i)[a-f]+",
]

mixed = st.text(st.sampled_from("abZ09_ ,'-^]\n\0é٣ßя€😀") | st.characters(codec="utf-8"), max_size=40)


def tokens(text, analyzer, pattern=r"\w+"):
    tokenizer = Tokenizer(analyzer, pattern, 1, lowercase=False)
    data, starts = tokenizer.cut(text), tokenizer.starts
    return [
        bytes(data[starts[number] : starts[number + 1] - tokenizer.gap]).decode()
        for number in range(tokenizer.count)
    ]


@pytest.mark.parametrize("pattern", RUNS_OF_ONE_CLASS + OTHER_PATTERNS)
@given(text=mixed)
def test_words_are_what_the_pattern_finds(pattern, text):
    assert tokens(text, "words", pattern) == [match.group() for match in re.finditer(pattern, text)]


def test_every_code_point_is_told_from_its_neighbours():
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000, 7)]))
    assert tokens(every, "words") == re.findall(r"\w+", every)


@pytest.mark.parametrize("pattern", [r"\w+", r"\b\w+"])
def test_a_lone_surrogate_between_words_does_no_harm(pattern):
    assert tokens("win \ud800 prize", "words", pattern) == ["win", "prize"]


@pytest.mark.parametrize(("analyzer", "pattern"), [("words", r"\S+"), ("words", r"\b.+"), ("chars", "")])
def test_a_lone_surrogate_in_a_token_is_refused(analyzer, pattern):
    with pytest.raises(UnicodeEncodeError):
        tokens("win\ud800", analyzer, pattern)


def test_fewer_tokens_than_are_of_use_are_none_even_with_a_lone_surrogate():
    tokenizer = Tokenizer("chars", "", 4, lowercase=False)
    assert tokenizer.cut("a\ud800b") == b""
    assert tokenizer.count == 0


def test_a_text_of_any_length_has_room():
    assert tokens("ab " * 5000, "words") == ["ab"] * 5000
    assert tokens("ab " * 5000, "words", r"\b\w+") == ["ab"] * 5000
    assert tokens("é" * 5000, "chars") == ["é"] * 5000


@pytest.mark.parametrize("analyzer", ["words", "chars"])
@pytest.mark.parametrize("text", ["Win A Prize", "£5 PRIZE", "\u212a is Kelvin, in lower case an ASCII k"])
def test_a_text_of_a_class_of_its_own_is_cut_as_any_other(analyzer, text):
    class Text(str):
        __slots__ = ()

    def cut(given):
        tokenizer = Tokenizer(analyzer, r"\w+", 1, lowercase=True)
        data = tokenizer.cut(given)
        starts = [*tokenizer.starts[: tokenizer.count + 1]]
        return bytes(data[: starts[-1] - tokenizer.gap]), starts

    assert cut(Text(text)) == cut(text)
    assert cut(text)[1][-1] == len(cut(text)[0]) + (analyzer == "words")
