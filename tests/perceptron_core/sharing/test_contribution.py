"""A contribution is read as it was written, or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import DamagedError
from perceptron_core.formats.envelope import seal, unseal
from perceptron_core.formats.packed import pack, unpack
from perceptron_core.sharing.contribution import read, write
from perceptron_core.sharing.mix import mix
from tests.perceptron_core.sharing.lanes import ALL, Learn, lanes_of, learn

KIND = b"perceptron-contribution"


def contribution(name="hashed-perceptron", n=12):
    (lane,) = lanes_of(name, 1)
    for k in range(n):
        learn(lane.model, Learn(0, {k: 1.0, k + 1: 0.5}, k % 3))
    return lane.contribute()


def test_a_contribution_is_written_again_as_it_was_read():
    for name in ALL:
        assert write(read(contribution(name))) == contribution(name)


@given(st.data())
def test_changed_bytes_are_damaged(data):
    sound = bytearray(contribution())
    at = data.draw(st.integers(0, len(sound) - 1))
    sound[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(DamagedError):
        mix([bytes(sound)])


@given(st.integers(0, 200))
def test_a_contribution_that_is_cut_off_is_damaged(n):
    sound = contribution()
    with pytest.raises(DamagedError):
        read(sound[: min(n, len(sound) - 1)])


def resealed(change):
    """Change what is in a contribution, and seal it again."""
    _, body = unseal(KIND, range(1, 2), contribution())
    return seal(KIND, 1, pack(change(list(unpack(body)))))


def replaced(at, value):
    return lambda body: [*body[:at], value, *body[at + 1 :]]


@pytest.mark.parametrize(
    "change",
    [
        replaced(0, ("Unknown", None)),
        replaced(0, ("Perceptron", None)),
        replaced(0, ("Perceptron", 2)),
        replaced(1, (1,)),
        replaced(2, -1),
        replaced(2, float("nan")),
        replaced(3, 7),
        replaced(3, 10**12),
        replaced(3, -1),
        replaced(4, ("b", b"\x00" * 13)),
        replaced(5, ("b", b"\xff" * 13)),
        replaced(6, ((None, 0, 13, None, ()),)),
        replaced(6, ((None, 0, 5, None, (("b", b"\x01" * 5),)),)),
        replaced(6, ((None, 1, 2, ("b", b"\x00\x01"), (("b", b"\x01\x01"),)),)),
        replaced(6, (((None, 1, 1, None, (("b", b"\x01"),)),) * 2)),
        replaced(6, (("a", 1, 1, None, ()),)),
        replaced(6, ((None, 2, 1, None, (("b", b"\x01"),)),)),
        replaced(6, (("a", 1, 1, None, (("b", b"\x01"),)),)),
        lambda _: [],
        lambda _: None,
    ],
)
def test_sealed_nonsense_is_damaged(change):
    with pytest.raises(DamagedError):
        read(resealed(change))
