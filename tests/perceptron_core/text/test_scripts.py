import sys
from itertools import groupby
from unicodedata import combining, is_normalized, normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import TextHasher
from perceptron_core.text import scripts
from perceptron_core.text.scripts import MAX_NON_STARTERS, folded, kind_of, tokens_of
from perceptron_core.text.tokenizer import Tokenizer
from tests.support.plain_text import cut, plain_text_features

mixed = st.text(
    st.sampled_from("abZ09_ ,'£$+\n\0é٣ßﬁ€😀我爱北京カﾊﾝสวัहि한ａ\u200d\ufe0f〇🏽")
    | st.characters(codec="utf-8"),
    max_size=40,
)


def tokens_in(text):
    return cut(Tokenizer("scripts", 1, lowercase=True), text)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Win £5 now!!", ["win", "£", "5", "now"]),
        ("我爱北京 ok 一", ["我爱", "爱北", "北京", "ok", "一"]),
        ("ﾊﾝｶｸ Ｆｕｌｌ", ["ハン", "ンカ", "カク", "full"]),
        ("สวัส", ["สว", "วั", "ัส"]),
        ("हिन्दी 한국어", ["हिन्दी", "한국어"]),
        ("STRASSE straße", ["strasse", "strasse"]),
        ("😀😀 ❤️ 👍🏽", ["😀", "😀", "❤", "👍", "🏽"]),
        ("\ud800a", ["a"]),
        ("", []),
    ],
)
def test_tokens_are_words_symbols_and_pairs_of_characters_without_spaces(text, tokens):
    assert [*tokens_of(folded(text, lowercase=True))] == tokens
    assert tokens_in(text) == tokens


@given(mixed)
def test_tokenizer_follows_its_rule(text):
    assert tokens_in(text) == [*tokens_of(folded(text, lowercase=True))]


@pytest.mark.parametrize("plane", range(17))
def test_every_code_point_is_cut_by_its_kind(plane):
    points = [chr(plane << 16 | point) for point in range(1 << 16) if plane or not 0xD800 <= point < 0xE000]
    tokenizer = Tokenizer("scripts", 1, lowercase=False)
    for first in range(0, len(points), 5000):
        text = folded("a".join(points[first : first + 5000]), lowercase=False)
        tokenizer.cut(text)
        assert tokenizer.count == len([*tokens_of(text)])


@given(st.text(st.sampled_from("abc ,.!?\n"), max_size=40))
def test_latin_scripts_give_the_tokens_of_words(text):
    words, scripts = TextHasher(18, ngrams=(1, 2)), TextHasher(18, ngrams=(1, 2), analyzer="scripts")
    assert scripts.transform_one(text) == words.transform_one(text)


@given(mixed)
def test_folded_text_is_nfkc(text):
    assert is_normalized("NFKC", folded(text, lowercase=False))


def non_starters(text):
    """Return the longest run of them in the decomposed text, which takes the time of its square to sort."""
    decomposed = "".join(normalize("NFKD", character) for character in text)
    runs = groupby(decomposed, lambda character: combining(character) > 0)
    return max((len([*run]) for is_mark, run in runs if is_mark), default=0)


@given(
    st.lists(
        st.tuples(
            st.sampled_from("aé 한\u0344\u0f73\uff9e\u0301\u0316\u0e38\u3099\U0001e94a"), st.integers(1, 400)
        ),
        max_size=6,
    )
)
def test_long_runs_of_marks_never_reach_nfkc(runs):
    text = "".join(character * times for character, times in runs)
    seen = []

    def watched(form, text):
        seen.append(non_starters(text))
        return normalize(form, text)

    with pytest.MonkeyPatch.context() as patch:
        folded("\u0301" * 300, lowercase=True)  # compiles the pattern
        patch.setattr(scripts, "normalize", watched)
        folded(text, lowercase=True)
    most = 2 * (MAX_NON_STARTERS + 1) if len(text) > 256 else 2 * 256
    assert all(run <= most for run in seen)


@given(mixed, st.integers(1, 200))
def test_texts_without_long_runs_of_marks_are_nfkc(text, times):
    text = f"{text} " * times
    assert folded(text, lowercase=False) == normalize("NFKC", text)


def test_no_code_point_after_plane_1_is_a_non_starter():
    behind = map(chr, range(0x20000, sys.maxunicode + 1))
    assert not any(combining(normalize("NFKD", point)[0]) for point in behind)


def test_symbol_is_a_token_and_mark_belongs_to_a_word():
    assert kind_of(ord("€")) != kind_of(ord("e")) == kind_of(0x301)


@given(mixed, st.sampled_from([(1, 1), (1, 2), (2, 3)]), st.booleans())
def test_hashed_ngrams_match_the_tokens(text, ngrams, counts):
    plain = plain_text_features(
        tokens_of(folded(text, lowercase=True)), 18, ngrams=ngrams, lowercase=False, counts=counts
    )
    hasher = TextHasher(18, analyzer="scripts", ngrams=ngrams, counts=counts)
    assert hasher.transform_one(text) == plain
