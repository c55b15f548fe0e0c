"""The compiled reader agrees with Pydantic on every message that it reads; it may leave any to Pydantic.

PERCEPTRON_FUZZ_INPUTS says how many messages are made at random, PERCEPTRON_FUZZ_SEED which ones.
"""

import json
import marshal
import os
import random
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from perceptron_core.weights.values import NamedValues
from service.messages.decoder import Decoder
from service.messages.labels import Vocabulary
from service.messages.schema import read_input

INPUTS = int(os.environ.get("PERCEPTRON_FUZZ_INPUTS", "20000"))
SEED = os.environ.get("PERCEPTRON_FUZZ_SEED", "1")

EventReader = pytest.importorskip("service.messages.event_reader").EventReader

COMMON = [
    b'{"id":"m-17","features":{"length":12.5,"lang":"en","urgent":true},"text":"Win","label":1}',
    b'{"id": "e1", "features": {"f0": 1.288184753155, "f1": -1.449445610867, "f2": 6.63e-05}, "label":true}',
    b' {"label" : false ,\n"id":"x"}\r\n\t',
    b'{"id":"a","text":"na\xc3\xafve \xf0\x9f\x8d\x8e","features":null,"label":null}',
    b'{"id":"a","features":{},"label":"spam"}',
    b'{"id":"a","text":""}',
    b'{"id":"a","text":"x","label":true,"weight":2.5}',
    b'{"id":"a","label":true,"weight":0}',
    b'{"weight":null,"id":"a","label":true}',
]
UNCOMMON = [
    b'{"id":"a","id":"b","label":1}',
    b'{"id":"a","features":{"x":1,"x":2}}',
    b'{"id":"a","features":{"x":1,"y":2,"x":3}}',
    b'{"id":"a","text":"two\\nlines"}',
    b'{"id":"a","features":{"x":NaN}}',
    b'{"id":"a","features":{"x":1e101}}',
    b'{"id":"a","features":{"x":12345678901234567890}}',
    b'{"id":"a","features":{"x":0.12345678901234567890}}',
    b'{"id":"a","features":{"x":[1]}}',
    b'{"id":"a","features":{"x":null}}',
    b'{"id":"a","features":{"x":1,}}',
    b'{"id":"a","features":{"x":1 "y":2}}',
    b'{"id":"a","features":{"x":01}}',
    b'{"id":"a","label":1,"weight":-1}',
    b'{"id":"a","label":1,"weight":1e13}',
    b'{"id":"a","label":1,"weight":true}',
    b'{"id":"a","label":1,"weight":NaN}',
    b'{"id":"a","label":1,"weight":1,"weight":1}',
    b'{"id":"a","label":1,}',
    b'{"id":"a","label":1}x',
    b'{"id":"a","label":1}\x00',
    b'{"id":"a","other":1}',
    b'{"id":"","label":1}',
    b'{"id":"%s","label":1}' % (b"i" * 257),
    b'{"id":1,"label":1}',
    b'{"id":"a","text":"\xff"}',
    b'{"id":"a","text":"\xed\xa0\x80"}',
    b'{"id":"a","text":"a\tb"}',
    b'\xef\xbb\xbf{"id":"a","label":1}',
    b"[]",
    b"",
]


def content(fields):
    """Return fields as bytes: the same for the same types, bits and order, and for nothing else."""
    event_id, features, text, label, weight = fields
    plain = features.as_dict() if type(features) is NamedValues else features
    return marshal.dumps((event_id, plain, text, label, weight), 2)


def judged(value):
    """Return what Pydantic reads, as `content`; None if it rejects."""
    try:
        read = read_input(value)
    except ValidationError:
        return None
    return content((read["id"], *map(read.get, ("features", "text", "label", "weight"))))


def agrees(reader, value):
    """Check one message; return whether it was read."""
    read = reader.read(value)
    if read is None:
        return False
    assert content(read) == judged(value), value
    return True


@pytest.mark.parametrize("value", COMMON)
def test_message_of_the_common_shape_reads_as_in_pydantic(value):
    reader = EventReader()
    assert all(agrees(reader, value) for _ in range(3))  # names are known from the second time on


@pytest.mark.parametrize("value", UNCOMMON)
def test_message_of_another_shape_is_left_to_pydantic(value):
    reader = EventReader()
    for known in (b'{"id":"a","features":{"x":1,"y":1}}', b'{"id":"a","features":{"x":2,"y":1}}'):
        reader.read(known)
    assert reader.read(value) is None


def test_bytearray_is_left_to_pydantic():
    assert EventReader().read(bytearray(COMMON[0])) is None


@pytest.mark.parametrize("value", COMMON)
def test_truncated_message_is_never_read_as_another(value):
    reader = EventReader()
    reader.read(value)
    assert not any(agrees(reader, value.strip()[:length]) for length in range(len(value.strip())))


@given(st.integers(1, 10**19 - 1), st.integers(-60, 60))
@example(9007199254740993, 0)
@example(9007199254740993, -3)
@example(5, -1)
def test_number_is_the_nearest_double(digits, exponent):
    text = f"{digits}e{exponent}"
    _, features, *_ = EventReader().read(b'{"id":"a","features":{"x":%s}}' % text.encode())
    assert struct.pack("d", features["x"]) == struct.pack("d", float(text))


@given(st.floats(-1e100, 1e100))
def test_number_round_trips(number):
    decoder = Decoder(Vocabulary(), 1000)
    read = decoder.decode(json.dumps({"id": "a", "features": {"x": number}}).encode()).features["x"]
    assert struct.pack("d", read) == struct.pack("d", number)


def test_feature_names_keep_message_order_after_any_messages():
    reader = EventReader()
    for names in ("ab", "ab", "ab", "ba", "abc", "a", "ac", "b", "ab", "axb", "", "ab"):
        value = json.dumps({"id": "i", "features": dict.fromkeys(names, 1.5)}).encode()
        assert list(reader.read(value)[1]) == list(names)


def test_numbers_of_expected_names_are_read_without_a_dictionary():
    reader = EventReader()

    def read(**features):
        return reader.read(json.dumps({"id": "i", "features": features}).encode())[1]

    assert [type(read(a=1, b=2)) for _ in range(3)] == [dict, dict, NamedValues]
    first, second = read(a=0.1, b=-7e-5), read(a=3, b=4)
    assert first == {"a": 0.1, "b": -7e-5}
    assert first.names is second.names
    others = [{"a": 1, "b": True}, {"a": "x", "b": 2}, {"a": 1}, {"b": 1, "a": 2}, {"a": 1, "b": 2, "c": 3}]
    for features in [*others, {}]:
        found = read(**features)
        assert type(found) is dict
        assert list(found.items()) == list(features.items())
        assert [type(read(a=1, b=2)) for _ in range(2)][1] is NamedValues
    many = {f"f{k}": k / 7 for k in range(257)}
    assert [type(read(**many)) for _ in range(3)] == [dict] * 3
    many.popitem()
    assert [type(read(**many)) for _ in range(3)] == [dict, dict, NamedValues]
    assert read(**many) == many


@pytest.mark.parametrize("names", ["a", "ab", "a" * 7, "a" * 8, "a" * 9, "a" * 24, "naïve", "語語語"])
def test_names_that_differ_in_one_byte_are_distinct(names):
    for place in range(len(names) + 1):
        reader, other = EventReader(), names[:place] + "b" + names[place + 1 :]
        for name in (names, names, other, names, names + "x", names):
            value = json.dumps({"id": "i", "features": {name: 1.5}}, ensure_ascii=False).encode()
            assert reader.read(value)[1] == {name: 1.5}


NAMES = ["f0", "f1", "f2", "f3", "lang", "", "naïve", "語", "id", "a" * 60, 'q"', "b\\"]
IDS = ["a", "m-17", "e123", "e124", "e125", "e126", "語", "", "i" * 256, "i" * 257, "語" * 256]
TEXTS = ["spam", "ham", "Win a prize", "naïve", "", "a\nb", 'q"', "\U0001f34e"]
NUMBERS = [
    *("0", "-0", "-0.0", "1", "-1", "0.5", "1e5", "1E-7", "1e400", "1e-400", "NaN", "Infinity"),
    *("-Infinity", "1e100", "1.1e100", "01", "1.", ".5"),
]
NUMBERS += ["9007199254740993", "9223372036854775807", "9223372036854775808"]
PIECES = rb"""" \ , : { } [ ] null true false \u00e9 \n e E . - + 0 9 "id": "x":1""".split()
PIECES += [b" ", b"\n", b"\xc3\xa9", b"\xff", b"\xed\xa0\x80", b"\x00"]


def number(rng):
    """Spell a number, mostly one that JSON knows."""
    kind = rng.random()
    if kind < 0.8:
        return repr(rng.gauss(0, 10 ** rng.randint(-3, 3)))
    if kind < 0.82:
        return rng.choice(NUMBERS)
    digits = str(rng.randrange(10 ** rng.randint(1, 22)))
    if kind < 0.85:
        return digits
    text = f"{digits[: rng.randint(0, 20)] or 0}.{digits[: rng.randint(1, 22)]}"
    return text if kind < 0.9 else f"{text}{rng.choice('eE')}{rng.choice('+-')}{rng.randint(0, 90)}"


def scalar(rng):
    """Write a value of a feature, or a label."""
    kind = rng.random()
    if kind < 0.8:
        return number(rng)
    if kind < 0.96:
        return rng.choice(["true", "false", "1", "0"])
    if kind < 0.97:
        return rng.choice(["null", "[]", "{}", '{"a":{"b":1}}'])
    return written(rng, TEXTS)


def written(rng, texts):
    """Write one of these texts."""
    return json.dumps(rng.choice(texts), ensure_ascii=rng.random() < 0.1)


def message(rng):
    """Write a message, mostly one that is valid."""
    gap = rng.choice(["", "", " ", "\n\t"])
    comma, colon = f"{gap},{gap}", f"{gap}:{gap}"
    names = NAMES[:5] if rng.random() < 0.8 else rng.choices(NAMES, k=rng.randint(0, 6))
    features = comma.join(written(rng, [name]) + colon + scalar(rng) for name in names)
    fields = [f'"id"{colon}{written(rng, IDS)}']
    if rng.random() < 0.8:
        fields.append(f'"features"{colon}{{{gap}{features}{gap}}}')
    if rng.random() < 0.3:
        fields.append(f'"text"{colon}{written(rng, TEXTS)}')
    if rng.random() < 0.8:
        fields.append(f'"label"{colon}{rng.choice(["true", "false", "1", scalar(rng)])}')
    if rng.random() < 0.05:
        fields.append(rng.choice([*fields, '"other":1', '"Id":"a"']))
    if rng.random() < 0.3:
        rng.shuffle(fields)
    return f"{gap}{{{gap}{comma.join(fields)}{gap}}}{gap}".encode()


def mutated(rng, value):
    """Change a message at one place or a few; half of the changes only make other numbers and texts."""
    made = bytearray(value)
    for _ in range(1 + (rng.random() < 0.3)):
        at = int(rng.random() * len(made))
        kind = int(rng.random() * 10)
        if kind < 5:
            for place in range(at, min(at + 4, len(made))):
                if made[place] in b"0123456789.eE-+abcx":
                    made[place] = rng.choice(b"0123456789")
        elif kind == 5:
            made[at:at] = rng.choice(PIECES)
        elif kind == 6:
            del made[at : at + 1 + int(rng.random() * rng.choice([2, 20]))]
            made = made or bytearray(b"{")
        elif kind == 7:
            made[at] = int(rng.random() * 256)
        elif kind == 8:
            start = int(rng.random() * len(made))
            made[at:at] = made[start : start + 1 + int(rng.random() * 12)]
        else:
            del made[at + 1 :]
    return bytes(made)


def random_messages(rng, count):
    """Write messages, and change each in several ways."""
    for n in range(count):
        if n % 10 == 0:
            whole = message(rng)
        yield mutated(rng, whole) if n % 10 else whole


def test_random_messages_are_read_as_pydantic_reads_them():
    reader = EventReader()
    n_read = sum(agrees(reader, value) for value in random_messages(random.Random(SEED), INPUTS))
    assert 0.15 < n_read / INPUTS < 0.8
