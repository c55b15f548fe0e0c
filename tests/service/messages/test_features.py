import math
import re
import struct

import mmh3
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from perceptron_core.weights.values import IndexedValues, NamedValues
from service.messages.features import (
    FeatureExtractor,
    FeatureOptions,
    RawFeatures,
    VectorFeatures,
    VectorNames,
    listed_values,
)
from service.messages.rejection import Rejection
from tests.support.plain_text import plain_text_features


def extract(features=None, text=None, **options):
    return FeatureExtractor(FeatureOptions(**options)).extract(features, text)


@pytest.mark.parametrize(
    ("features", "text", "options", "expected"),
    [
        (None, None, {}, {}),
        ({}, "", {}, {}),
        ({"length": 12.5, "count": 3}, None, {}, {"length": 12.5, "count": 3.0}),
        ({"new": True, "seen": False, "lang": "en"}, None, {}, {"new": 1.0, "seen": 0.0, "lang=en": 1.0}),
        ({"win": 2}, "win", {}, {"win": 2.0, "text=win": 1.0}),
        (None, "Win a prize, WIN!", {}, {"text=win": 1.0, "text=a": 1.0, "text=prize": 1.0}),
        (None, "Win win", {"lowercase": False}, {"text=Win": 1.0, "text=win": 1.0}),
        (None, "win a win", {"text_values": "counts"}, {"text=win": 2.0, "text=a": 1.0}),
        (None, "it's £1", {}, {"text=it": 1.0, "text=s": 1.0, "text=1": 1.0}),
        ({"lang": "en"}, None, {"hash_bits": 20}, {mmh3.hash("lang=en", 0, signed=False) % 2**20: 1.0}),
        # 1e16 + 1 + 1, added with more care than one after the other, is 1e16 + 2
        ({"a": 1e8, "b": 1, "c": 1}, None, {"normalize": "l2"}, {"a": 1.0, "b": 1e-8, "c": 1e-8}),
    ],
)
def test_event_is_made_into_numbers_by_name(features, text, options, expected):
    assert list(map(repr, extract(features, text, **options).items())) == list(map(repr, expected.items()))


@pytest.mark.parametrize("features", [{"length": 3.0, "depth": 4.0}, {"length": 3.0, "lang": "en"}])
def test_features_of_the_event_stay_unchanged(features):
    before = dict(features)
    extract(features, "win", normalize="l2")
    assert features == before


@pytest.mark.parametrize(
    "options", [FeatureOptions(), FeatureOptions(hash_bits=4), FeatureOptions(normalize="l2")]
)
@pytest.mark.parametrize(("text", "tenant"), [(None, None), ("", None), ("win a", None), (None, "acme")])
def test_numbers_give_the_features_of_their_dictionary(options, text, tenant):
    extractor, named = FeatureExtractor(options), NamedValues(("b", "a", "c"), (0.1, -3.0, 7.0))
    x = extractor.extract_values(named, text, tenant)
    expected = extractor.extract(named.as_dict(), text, tenant)
    assert list(x.items()) == list(expected.items())
    assert (x is named) == (options == FeatureOptions() and not text and tenant is None)
    assert named == {"b": 0.1, "a": -3.0, "c": 7.0}
    for features in ({"a": 1.0}, {"a": True, "b": "x"}, {}, None):
        assert extractor.extract_values(features, text, tenant) == extractor.extract(features, text, tenant)


@given(
    first=st.dictionaries(
        st.sampled_from(["e", "lang", "e[0]=x", "text"]), st.floats(-9, 9) | st.sampled_from([True, "x", 7])
    ),
    values=st.lists(st.floats(-9, 9), max_size=9),
    bits=st.sampled_from([0, 3, 20]),
    normalize=st.sampled_from(["none", "l2"]),
    text=st.sampled_from([None, "", "win a prize", "win x"]),
)
def test_vectors_give_the_features_of_their_dictionary(first, values, bits, normalize, text):
    names = VectorNames([*(f"e[{n}]" for n in range(len(values))), "lang=x"])
    vectors = listed_values(names.names[:-1], values), listed_values(names.names[-1:], [0.5])
    extractor = FeatureExtractor(FeatureOptions(hash_bits=bits, normalize=normalize))
    features = VectorFeatures(first, names, vectors)
    found, expected = extractor.extract_values(features, text), extractor.extract(features.as_dict(), text)
    assert [*map(repr, found.items())] == [*map(repr, expected.items())]
    assert features == first | {name: value for each in vectors for name, value in each.items()}


@pytest.mark.parametrize(("options", "kind"), [({}, NamedValues), ({"hash_bits": 20}, IndexedValues)])
def test_features_with_vectors_are_extracted_as_arrays(options, kind):
    names = VectorNames(["e[0]", "e[1]"])
    features = VectorFeatures({"lang": "en"}, names, (listed_values(names.names, [3.0, 4.0]),))
    for normalize in ("none", "l2"):
        extractor = FeatureExtractor(FeatureOptions(**options, normalize=normalize))
        for text in (None, "win"):
            assert type(extractor.extract_values(features, text)) is kind


class InOneGo(VectorFeatures):
    """Features that are not to be looked up one by one, which takes the square of their number."""

    def __getitem__(self, name):
        raise AssertionError(f"{name} is looked up")


def test_raw_feature_model_reads_vectors_as_arrays():
    names = VectorNames(["e[0]", "e[1]"])
    features = InOneGo({"lang": "en"}, names, (listed_values(names.names, [3.0, 4.0]),))
    expected = {"lang": "en", "e[0]": 3.0, "e[1]": 4.0}
    assert RawFeatures().extract(features, None) == RawFeatures().as_numbers(features, ()) == expected


def test_one_decoders_vectors_are_hashed_for_models_of_different_sizes():
    names = VectorNames(["e[0]", "e[1]"])
    features = VectorFeatures({}, names, (listed_values(names.names, [3.0, 4.0]),))
    for bits in (20, 6, 20):
        extractor = FeatureExtractor(FeatureOptions(hash_bits=bits))
        assert extractor.extract_values(features, None) == extractor.extract(features.as_dict(), None)


@given(text=st.text(), counts=st.booleans())
def test_text_hashed_without_a_dictionary_equals_its_dictionary(text, counts):
    options = FeatureOptions(hash_bits=4, text_values="counts" if counts else "binary")
    extractor = FeatureExtractor(options)
    try:
        expected = extractor.extract(None, text)
    except UnicodeError:  # a lone surrogate
        with pytest.raises(UnicodeError):
            extractor.extract_values(None, text)
        return
    x = extractor.extract_values(None, text)
    assert list(x.items()) == list(expected.items())
    assert isinstance(x, IndexedValues) == bool(text)


texts = st.text(st.sampled_from("aB c1é,\n"), max_size=30)
ranges = st.sampled_from([(1, 1), (1, 2), (2, 3)])


@given(texts, ranges, st.sampled_from(["binary", "counts"]))
def test_word_ngrams_equal_scikit_learn(text, ngrams, text_values):
    theirs = CountVectorizer(token_pattern=r"\w+", ngram_range=ngrams, binary=text_values == "binary")
    try:
        counts = theirs.fit_transform([text]).toarray()[0]
    except ValueError:  # no word at all
        counts = []
    expected = {f"text={name}": counts[index] for name, index in getattr(theirs, "vocabulary_", {}).items()}
    assert extract(text=text, ngrams=ngrams, text_values=text_values) == expected


@given(texts, ranges)
def test_character_ngrams_equal_scikit_learn(text, ngrams):
    once_spaced = re.sub(r"\s+", " ", text)  # which scikit-learn does on its own
    theirs = CountVectorizer(analyzer="char", ngram_range=ngrams).build_analyzer()
    ours = FeatureExtractor(FeatureOptions(text="chars", ngrams=ngrams)).extract(None, once_spaced)
    assert set(ours) == {f"text={token}" for token in theirs(once_spaced)}


@given(
    st.dictionaries(st.text(max_size=3), st.floats(-1e100, 1e100) | st.text(max_size=3), max_size=6), texts
)
def test_l2_scales_to_unit_length(features, text):
    x = extract(features, text, normalize="l2")
    assert all(math.isfinite(value) for value in x.values())
    if max(map(abs, extract(features, text).values()), default=0.0) > 1e-153:  # or its square is lost
        assert math.isclose(math.hypot(*x.values()), 1.0, rel_tol=1e-9)


@given(st.dictionaries(st.text(max_size=3), st.integers(-9, 9), max_size=6), st.integers(1, 30))
def test_hashing_keeps_the_sum_within_two_to_the_bits(features, bits):
    x = extract(features, hash_bits=bits)
    assert all(0 <= index < 2**bits for index in x)
    assert sum(x.values()) == sum(features.values())


@given(
    st.dictionaries(st.text(max_size=3), st.floats(-1e100, 1e100) | st.text(max_size=3), max_size=6),
    texts | st.text(max_size=20),
    ranges,
    st.sampled_from(["words", "chars"]),
    st.sampled_from(["binary", "counts"]),
    st.sampled_from(["none", "l2"]),
    st.sampled_from([2, 18]),
)
def test_hashed_text_adds_to_hashed_features_as_in_the_reference(
    features, text, ngrams, analyzer, text_values, normalize, bits
):
    expected = extract(features, hash_bits=bits)
    counts = text_values == "counts"
    of_text = plain_text_features(text, bits, analyzer=analyzer, ngrams=ngrams, counts=counts)
    for index, value in of_text.items():
        expected[index] = expected.get(index, 0.0) + value
    if normalize == "l2":
        scale_plainly(expected)
    options = FeatureOptions(
        text=analyzer, ngrams=ngrams, text_values=text_values, normalize=normalize, hash_bits=bits
    )
    assert [*FeatureExtractor(options).extract(features, text).items()] == [*expected.items()]


def scale_plainly(x):
    squares = 0.0
    for value in x.values():
        squares += value * value
    for name in x if squares else ():
        x[name] /= math.sqrt(squares)


def test_lone_surrogate_cannot_be_hashed():
    with pytest.raises(UnicodeEncodeError):
        extract({"\ud800": 1}, hash_bits=18)


@given(st.text(st.sampled_from("aB £我爱ßﬁ😀"), max_size=12))
def test_text_in_any_script_has_equal_tokens_named_and_hashed(text):
    named = FeatureExtractor(FeatureOptions(text="scripts", ngrams=(1, 2))).extract(None, text)
    hashed = FeatureExtractor(FeatureOptions(text="scripts", ngrams=(1, 2), hash_bits=24)).extract(None, text)
    assert len(named) == len(hashed)


def test_text_only_event_is_rejected_by_a_model_without_texts():
    raw = RawFeatures(takes_text=False)
    assert raw.extract({"size": 1.0}, "a text") == {"size": 1.0, "text": "a text"}
    with pytest.raises(Rejection, match="got only text"):
        raw.extract(None, "a text")


LISTED = st.floats(-1e100, 1e100) | st.integers(-(10**100), 10**100)


def test_values_are_an_ordered_mapping_of_features_to_numbers():
    names = VectorNames(["e[0]", "f[0]", "f[1]"])
    vectors = listed_values(("e[0]",), [0.5]), listed_values(("f[0]", "f[1]"), [-0.0, 7])
    features = VectorFeatures({"lang": "en", "n": 3}, names, vectors)
    assert [*features.items()] == [("lang", "en"), ("n", 3), ("e[0]", 0.5), ("f[0]", 0.0), ("f[1]", 7.0)]
    assert len(features) == 5


@given(st.lists(LISTED, max_size=5))
def test_numbers_of_a_list_are_pythons_numbers(values):
    found = listed_values(tuple(map(str, range(len(values)))), values)
    assert [struct.pack("d", each) for each in found.values()] == [struct.pack("d", each) for each in values]


@pytest.mark.parametrize("value", [True, None, "1", [1.0], float("nan"), float("inf"), 1.1e100, 10**400])
def test_list_with_other_values_gives_no_array(value):
    assert listed_values(("a", "b"), [1.0, value]) is None
    assert listed_values(("a", "b"), [1.0]) is None


def test_events_of_the_same_features_share_their_names():
    names = VectorNames(["e[0]"])
    first = names.followed_by({"a": 1.0, "b": 2.0})
    assert first == ("a", "b", "e[0]")
    assert names.followed_by({"a": 3.0, "b": 4.0}) is first
    assert names.followed_by({"b": 1.0, "a": 2.0}) == ("b", "a", "e[0]")
    assert names.followed_by({"e[0]": 1.0}) is None


def test_cached_feature_names_are_bounded():
    names = VectorNames(["e[0]"])
    first = names.followed_by({"f": 1.0})
    for n in range(100):
        names.followed_by({f"lang={n}": 1.0})
    assert names.followed_by({"f": 1.0}) is not first
    assert names.followed_by({"f": 1.0}) == first
