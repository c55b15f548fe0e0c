import mmh3
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import perceptron_core.text.hasher
from perceptron_core import TextHasher
from tests.support.plain_text import plain_text_features

texts = st.text(st.sampled_from("aabB1 ,\n\0éÉßİK€😀") | st.characters(codec="utf-8"), max_size=60)
options = st.fixed_dictionaries(
    {
        "bits": st.sampled_from([1, 4, 18, 20, 21, 30]),
        "analyzer": st.sampled_from(["words", "chars"]),
        "ngrams": st.sampled_from([(1, 1), (1, 3), (2, 2), (4, 4), (3, 7)]),
        "lowercase": st.booleans(),
        "counts": st.booleans(),
        "l2": st.booleans(),
        "prefix": st.sampled_from(["text=", "", "a", "ab", "abcd", "été=", "\0" * 9]),
    }
)


@given(st.text(st.characters(codec="utf-8"), max_size=9), st.text(st.characters(codec="utf-8"), min_size=1))
@example("", "\xff" * 64)
def test_hash_is_murmur3_of_prefix_and_ngram(prefix, token):
    whole = TextHasher(30, analyzer="chars", ngrams=(len(token),) * 2, lowercase=False, prefix=prefix)
    expected = mmh3.hash(prefix + token, 0, signed=False) % 2**30
    assert [*whole.transform_one(token)] == [expected]


@pytest.mark.parametrize("prefix", ["", "a", "ab", "abc", "abcd", "text="])
def test_ascii_blocks_hash_like_single_characters(prefix):
    text = "".join(map(chr, range(128)))
    fours = TextHasher(30, analyzer="chars", ngrams=(4, 4), lowercase=False, prefix=prefix)
    expected = [mmh3.hash(prefix + text[at : at + 4], 0, signed=False) % 2**30 for at in range(125)]
    assert list(fours.transform_one(text)) == expected


@given(texts, options)
def test_features_equal_the_plain_formulation(text, options):
    hashed = TextHasher(**options).transform_one(text)
    assert [*hashed.items()] == [*plain_text_features(text, **options).items()]


@given(st.lists(texts, max_size=8), options)
def test_rows_are_the_features_of_one_text_each(texts, options):
    hasher = TextHasher(**options)
    rows = hasher.transform_many(texts)
    assert rows.indptr[0] == 0
    assert len(rows.indptr) == len(texts) + 1
    assert len(rows.indices) == len(rows.values) == rows.indptr[-1]
    for text, start, end in zip(texts, rows.indptr, rows.indptr[1:], strict=False):
        row = zip(rows.indices[start:end], rows.values[start:end], strict=True)
        assert [*row] == [*hasher.transform_one(text).items()]


def test_rows_have_the_widths_of_scipys_csr():
    rows = TextHasher(18).transform_many(["win"])
    assert [(column.typecode, column.itemsize) for column in rows] == [("q", 8), ("i", 4), ("d", 8)]


@given(texts, options)
def test_bytes_are_hashed_like_their_text(text, options):
    hasher = TextHasher(**options)
    assert hasher.transform_one(text.encode()) == hasher.transform_one(text)


@given(st.text(st.sampled_from("ab \ud800\udfffé")), options)
def test_lone_surrogates_are_rejected_like_the_plain_formulation(text, options):
    try:
        expected = plain_text_features(text, **options)
    except UnicodeEncodeError:
        with pytest.raises(UnicodeEncodeError):
            TextHasher(**options).transform_one(text)
    else:
        assert TextHasher(**options).transform_one(text) == expected


def test_rejected_text_leaves_the_rows_unchanged():
    hasher = TextHasher(18)
    hasher.append("a prize")
    before = hasher.filled, [*hasher.indices[:2]], [*hasher.values[:2]]
    with pytest.raises(UnicodeDecodeError):
        hasher.append(b"win \xff")
    assert (hasher.filled, [*hasher.indices[:2]], [*hasher.values[:2]]) == before
    assert hasher.transform_one("win") == plain_text_features("win", 18)


def test_memory_of_a_huge_batch_is_released(monkeypatch):
    monkeypatch.setattr(perceptron_core.text.hasher, "_MAX_CAPACITY_KEPT", 3000)
    hasher = TextHasher(18, analyzer="chars")
    at_first = len(hasher.indices)
    hasher.transform_many(["abcdefgh"] * 1000)
    assert len(hasher.indices) > 3000
    assert hasher.transform_one("ab") == plain_text_features("ab", 18, analyzer="chars")
    assert len(hasher.indices) == at_first


@pytest.mark.parametrize("single", ["win", b"win"])
def test_single_text_is_rejected_as_a_batch(single):
    with pytest.raises(TypeError, match="several"):
        TextHasher(18).transform_many(single)


@pytest.mark.parametrize("bits", [10, 30])
@pytest.mark.parametrize("counts", [False, True])
def test_more_words_than_the_first_table_holds_stay_distinct(bits, counts):
    text = " ".join(f"{number * number:x}" for number in range(4000))
    expected = plain_text_features(text, bits, counts=counts)
    hasher = TextHasher(bits, counts=counts)
    assert [hasher.transform_one(text) for _ in range(2)] == [expected] * 2
