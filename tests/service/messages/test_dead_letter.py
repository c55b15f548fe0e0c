"""Dead letters as they fit: whole, whole and compressed, or cut."""

import itertools
import random
from hashlib import sha256

import pytest

from service.messages.dead_letter import dead_letter, fit, record_bytes
from service.messages.rejection import Reason, Rejection
from service.stream.protocol import Record, RecordLimit

NOISE = random.Random(1).randbytes(200_000)


def letter(value=b"junk", key=b"k", headers=(), message="no"):
    record = Record("events", 3, 17, 0, key, value, headers)
    return dead_letter(record, Rejection(Reason.INVALID_JSON, message), "dead-letters")


def limit(n_bytes, uncompressed_bytes=None):
    return RecordLimit(n_bytes, uncompressed_bytes or n_bytes)


def size(part):
    return None if part is None else len(part)


def test_fitting_dead_letter_is_unchanged():
    whole = letter(NOISE)
    assert fit(whole, limit(record_bytes(whole))) == (whole, False)


def test_dead_letter_that_fits_compressed_stays_whole():
    whole = letter(b"x" * 5_000_000)
    assert fit(whole, limit(100_000, 10_000_000)) == (whole, True)


def test_too_large_dead_letter_is_cut_and_marked():
    cut, compress = fit(letter(NOISE), limit(100_000, 10_000_000))
    origin = dict(cut.headers)
    assert not compress
    assert NOISE.startswith(cut.value)
    assert 99_900 < record_bytes(cut) <= 100_000
    assert origin["error.truncated"] == b"true"
    assert origin["source.size"] == b"200000"
    assert origin["source.sha256"].decode() == sha256(NOISE).hexdigest()
    assert origin["source.offset"] == b"17"


def test_stream_without_compression_gets_a_cut_dead_letter():
    cut, compress = fit(letter(b"x" * 5_000_000), limit(100_000))
    assert (record_bytes(cut), compress) == (100_000, False)


@pytest.mark.parametrize("max_bytes", [1_100, 2_000, 20_000, 1_048_524])
def test_dead_letter_of_any_record_fits(max_bytes, subtests):
    huge = (NOISE * 6)[: 2 * max_bytes]
    contents = [None, b"", b"v", huge]
    many = (("h", b"1" * 600),) * 2_000
    records = [
        *itertools.product(contents, contents, [(), (("h", b"1"),), (("ключ" * 100, huge),), many]),
        (b"v", b"k", (("h", b""),) * 100_000),
    ]
    for value, key, headers in records:
        with subtests.test(
            value=size(value), key=size(key), headers=[(name, size(content)) for name, content in headers[:2]]
        ):
            whole = letter(value, key, headers, "ж" * 500)
            cut, _ = fit(whole, limit(max_bytes, 10_000_000))
            assert record_bytes(cut) <= max_bytes or cut == whole
            assert (cut.key is None, cut.value is None) == (key is None, value is None)
            assert dict(cut.headers)["source.topic"] == b"events"


def test_huge_key_and_huge_headers_leave_room_for_the_value():
    cut, _ = fit(letter(b"v" * 40_000, NOISE, (("h", NOISE),)), limit(100_000))
    origin = dict(cut.headers)
    assert cut.value == b"v" * 40_000
    assert 0 < len(cut.key) < len(NOISE)
    assert (origin["source.key_size"], origin["source.headers"]) == (b"200000", b"1")
    assert "h" not in origin


def test_cut_dead_letter_keeps_small_producer_headers():
    cut, _ = fit(letter(NOISE, headers=(("h", b"1"),)), limit(10_000))
    assert cut.headers[0] == ("h", b"1")
    assert [name for name, _ in cut.headers[1:]] == [
        *("error.reason", "error.message", "source.topic", "source.partition", "source.offset"),
        "source.timestamp",
        *("error.truncated", "source.size", "source.sha256", "source.key_size", "source.headers"),
    ]


def test_error_message_is_cut_between_two_characters():
    cut, _ = fit(letter(NOISE, message="ж" * 500), limit(2_001))
    assert set(dict(cut.headers)["error.message"].decode()) == {"ж"}
