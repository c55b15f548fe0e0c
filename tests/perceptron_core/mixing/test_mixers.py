"""Mixers of several classes know what each would know by itself, to the bit."""

from array import array

from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.mixing.mixer import Mixer
from perceptron_core.mixing.mixers import Mixers

_LANES = 4
_MOST = 9
inputs = st.lists(st.floats(-8, 8), min_size=_MOST, max_size=_MOST)
examples = st.tuples(
    st.lists(inputs, min_size=_MOST, max_size=_MOST),
    st.integers(0, _MOST - 1),
    st.sampled_from([1.0, 0.3, 7.0, 1e25]),
    st.lists(st.floats(0, 1), min_size=_MOST, max_size=_MOST),
)


def side_by_side(rows, width):
    """Bring the first inputs of each class into the order of `Mixers`."""
    block = array("d", [0.0]) * (-(-len(rows) // _LANES) * _LANES * width)
    for c, row in enumerate(rows):
        start = c // _LANES * _LANES * width + c % _LANES
        block[start : start + _LANES * width : _LANES] = array("d", row[:width])
    return block


def mixers(n_classes, n_inputs, forgetting):
    made = [Mixer(0.1, forgetting) for _ in range(n_classes)]
    for mixer in made:
        for k in range(n_inputs):
            mixer.join(0.1 * k)
    return made


@given(
    n_classes=st.integers(1, _MOST),
    n_inputs=st.integers(0, _MOST - 1),
    first=st.integers(0, 1),
    forgetting=st.sampled_from([1.0, 0.999, 0.9]),
    stream=st.lists(examples, max_size=20),
)
def test_each_mixer_knows_what_it_would_know_by_itself(n_classes, n_inputs, first, forgetting, stream):
    own, alone = (mixers(n_classes, n_inputs, forgetting) for _ in range(2))
    together, width = Mixers(own), first + n_inputs
    for rows, number, w, information in stream:
        block = side_by_side(rows[:n_classes], width)
        together.mix(block, width, first)
        for c, mixer in enumerate(alone):
            z = array("d", rows[c][first:width])
            assert together.answers[c].hex() == mixer.mix(z).hex()
            mixer.learn(z, c == number, w, mixer.mix(z), information[c])
        together.learn(block, width, first, number, w, array("d", information))
    together.give()
    assert [mixer.get_state() for mixer in own] == [mixer.get_state() for mixer in alone]
