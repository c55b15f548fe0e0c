"""What several processors read is read once, until it is forgotten."""

import pytest

from service.messages.decoder import Decoder
from service.messages.features import FeatureExtractor, FeatureOptions
from service.messages.labels import Vocabulary
from service.messages.once import OnceDecoder, OnceExtractor
from service.messages.rejection import Rejection
from service.partition.factory import make_decoder
from service.stream import Record
from tests.service.building import settings

EVENT = b'{"id":"a","features":{"f":2},"text":"to be or not to be","label":true}'


@pytest.fixture
def decoder():
    return OnceDecoder(Decoder(Vocabulary(), 1000))


@pytest.fixture
def extractor():
    return OnceExtractor(FeatureExtractor(FeatureOptions()))


def test_a_message_is_decoded_once(decoder):
    assert decoder.decode(EVENT) is decoder.decode(bytes(bytearray(EVENT)))


def test_a_message_that_was_forgotten_is_decoded_again(decoder):
    first = decoder.decode(EVENT)
    decoder.forget()
    assert decoder.decode(EVENT) is not first


def test_a_bad_message_is_refused_each_time(decoder):
    for _ in range(2):
        with pytest.raises(Rejection):
            decoder.decode(b"junk")


def test_records_with_the_same_value_are_told_apart_by_what_else_they_have():
    decoder = OnceDecoder(make_decoder(settings(events={"id": "@key", "text": "body"})))
    records = [Record("events", 0, n, 0, key, b'{"body":"x"}') for n, key in enumerate([b"a", b"b"])]
    assert [decoder.decode(record.value, record).id for record in records] == ["a", "b"]


def test_features_are_made_once(decoder, extractor):
    incoming = decoder.decode(EVENT)
    assert extractor.extract(incoming.features, incoming.text) is extractor.extract(
        incoming.features, incoming.text
    )


def test_the_same_text_beside_other_features_is_another_x(extractor):
    assert extractor.extract({"f": 1.0}, "be") != extractor.extract({"f": 2.0}, "be")


def test_features_that_are_let_go_lend_their_identity_to_none(extractor):
    made = [extractor.extract({"f": float(n)}, None) for n in range(1000)]
    assert made == [{"f": float(n)} for n in range(1000)]


def test_features_that_were_forgotten_are_made_again(extractor):
    features = {"f": 1.0}
    first = extractor.extract(features, "be")
    extractor.forget()
    again = extractor.extract(features, "be")
    assert again == first
    assert again is not first
