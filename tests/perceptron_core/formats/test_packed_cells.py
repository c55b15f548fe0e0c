"""Features and their cells are written as `msgpack` writes a dictionary of them, to the byte."""

from array import array

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import AROW, AveragedPerceptron, HashedClassifier, LogisticRegression, to_bytes
from perceptron_core.formats import model_bytes

compiled = pytest.mark.skipif(model_bytes.pack_cells is None, reason="not compiled")

LENGTHS = (0, 1, 31, 32, 255, 256, 65_535, 65_536)
"""Of texts, on both sides of each length from which on the length takes more bytes."""
INTEGERS = (0, 127, 128, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**64 - 1, -1, -(2**63))
NAMES = (
    st.text(st.characters(codec=None), max_size=40)
    | st.sampled_from(LENGTHS).map("x".__mul__)
    | st.sampled_from(INTEGERS)
    | st.booleans()
    | st.floats(allow_nan=False)
    | st.tuples(st.text(max_size=3), st.integers(-5, 5))
)


@compiled
@given(st.dictionaries(NAMES, st.floats(), max_size=40))
def test_any_names_and_numbers(cells):
    written = model_bytes.pack_cells([*cells], array("d", cells.values()))
    assert written == msgpack.packb(cells, unicode_errors="surrogatepass")


@compiled
@pytest.mark.parametrize("n", [15, 16, 65_535, 65_536])
def test_any_number_of_names(n):
    cells = {f"feature {k}": float(k) for k in range(n)}
    assert model_bytes.pack_cells([*cells], array("d", cells.values())) == msgpack.packb(cells)


def learned(model, names):
    for k, name in enumerate(names):
        model.learn_one({name: k + 0.5, names[k - 1]: -1.0}, k % 3 == 0)
    return model


@compiled
@pytest.mark.parametrize(
    "model",
    [
        learned(AROW(), ["a", "é", "\ud800", ("x", 1)]),
        learned(AveragedPerceptron(), ["a", "b", "c", "d"]),
        learned(HashedClassifier(LogisticRegression(), 8), [3, 200, 128]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_model_is_the_same_bytes_whoever_writes_them(model, monkeypatch):
    written = to_bytes(model)
    monkeypatch.setattr(model_bytes, "pack_cells", None)
    assert to_bytes(model) == written
