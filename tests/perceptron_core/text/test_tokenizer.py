import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.text.tokenizer import Tokenizer
from tests.support.plain_text import cut

mixed = st.text(st.sampled_from("abZ09_ ,'-^]\n\0é٣ßя€😀") | st.characters(codec="utf-8"), max_size=40)


def tokens(text, analyzer):
    return cut(Tokenizer(analyzer, 1, lowercase=False), text)


@given(text=mixed)
def test_words_match_the_standard_library(text):
    assert tokens(text, "words") == re.findall(r"\w+", text)


def test_every_code_point_differs_from_its_neighbours():
    every = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000, 7)]))
    assert tokens(every, "words") == re.findall(r"\w+", every)


def test_lone_surrogate_between_words_does_no_harm():
    assert tokens("win \ud800 prize", "words") == ["win", "prize"]


def test_lone_surrogate_in_a_token_is_rejected():
    with pytest.raises(UnicodeEncodeError):
        tokens("win\ud800", "chars")


def test_too_few_tokens_give_no_ngrams():
    tokenizer = Tokenizer("chars", 4, lowercase=False)
    assert tokenizer.cut("a\ud800b") == b""
    assert tokenizer.count == 0


def test_text_of_any_length_is_tokenized():
    assert tokens("ab " * 5000, "words") == ["ab"] * 5000
    assert tokens("é" * 5000, "chars") == ["é"] * 5000


@pytest.mark.parametrize("analyzer", ["words", "chars"])
@pytest.mark.parametrize("text", ["Win A Prize", "£5 PRIZE", "\u212a is Kelvin, in lower case an ASCII k"])
def test_text_of_a_subclass_is_cut_as_any_text(analyzer, text):
    class Text(str):
        __slots__ = ()

    def cut_of(given):
        tokenizer = Tokenizer(analyzer, 1, lowercase=True)
        data = tokenizer.cut(given)
        starts = [*tokenizer.starts[: tokenizer.count + 1]]
        return bytes(data[: starts[-1] - tokenizer.gap]), starts

    assert cut_of(Text(text)) == cut_of(text)
    assert cut_of(text)[1][-1] == len(cut_of(text)[0]) + (analyzer == "words")
