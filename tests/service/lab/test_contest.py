"""What several models read is read once."""

import pytest

from service.lab.contest import CachingDecoder, CachingExtractor
from service.messages.decoder import Decoder
from service.messages.features import FeatureExtractor, FeatureOptions
from service.messages.labels import Vocabulary
from service.messages.rejection import Rejection
from service.partition.factory import make_decoder
from service.stream.protocol import Record
from tests.service.building import settings

EVENT = b'{"id":"a","features":{"f":2},"text":"to be or not to be","label":true}'


@pytest.fixture
def decoder():
    return CachingDecoder(Decoder(Vocabulary(), 1000))


@pytest.fixture
def extractor():
    return CachingExtractor(FeatureExtractor(FeatureOptions()))


def test_a_message_is_decoded_once_until_it_is_forgotten(decoder):
    first = decoder.decode(EVENT)
    assert decoder.decode(bytes(bytearray(EVENT))) is first
    decoder.forget()
    assert decoder.decode(EVENT) is not first


def test_a_bad_message_is_refused_each_time(decoder):
    for _ in range(2):
        with pytest.raises(Rejection):
            decoder.decode(b"junk")


def test_records_with_the_same_value_are_told_apart_by_what_else_they_have():
    decoder = CachingDecoder(make_decoder(settings(events={"id": "@key", "text": "body"})))
    records = [Record("events", 0, n, 0, key, b'{"body":"x"}') for n, key in enumerate([b"a", b"b"])]
    assert [decoder.decode(record.value, record).id for record in records] == ["a", "b"]


def test_features_are_made_once_until_they_are_forgotten(extractor):
    features = {"f": 1.0}
    first = extractor.extract(features, "be")
    assert extractor.extract(features, "be") is first
    extractor.forget()
    again = extractor.extract(features, "be")
    assert again == first
    assert again is not first


def test_the_same_text_beside_other_features_is_another_x(extractor):
    assert extractor.extract({"f": 1.0}, "be") != extractor.extract({"f": 2.0}, "be")


def test_features_that_are_let_go_lend_their_identity_to_none(extractor):
    made = [extractor.extract({"f": float(n)}, None) for n in range(1000)]
    assert made == [{"f": float(n)} for n in range(1000)]
