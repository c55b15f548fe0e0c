"""Loops over numbers: both forms of each give the same bits."""

import importlib.util
import random
from array import array
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import COMPILED, lanes


def _interpreted():
    """Import the interpreted form beside the one that is used."""
    source = Path(lanes.__file__).with_name("lanes.py")
    spec = importlib.util.spec_from_file_location("lanes", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


INTERPRETED = _interpreted()
lengths = st.integers(0, 70)
seeds = st.integers(0, 2**32)
pytestmark = pytest.mark.skipif(not COMPILED, reason="there is one form")


def drawn(seed, typecode, n):
    """Draw numbers whose sums depend on the order of additions, and zeros of either sign."""
    chance = random.Random(seed)
    return array(
        typecode, [chance.choice((0.0, -0.0, chance.gauss(0, 10 ** chance.uniform(-9, 9)))) for _ in range(n)]
    )


def results(name, changed, *arguments):
    """Return the bytes that each form of a function leaves in its argument with the number `changed`."""
    found = []
    for form in (lanes, INTERPRETED):
        copies = [each[:] if isinstance(each, array) else each for each in arguments]
        getattr(form, name)(*copies)
        found.append(copies[changed].tobytes())
    return found


@pytest.mark.parametrize(("name", "typecode"), [("add_products", "d"), ("add_squares", "f")])
@given(seed=seeds, n_columns=st.integers(1, 11), n=lengths)
def test_columns_are_added_in_one_order(name, typecode, seed, n_columns, n):
    cells, values = drawn(seed, typecode, n_columns * n + 1), drawn(seed + 1, typecode, n_columns)
    starts = array("i", [k * n for k in random.Random(seed).sample(range(n_columns), n_columns)])
    sums = drawn(seed + 2, typecode, n + 1)
    compiled, interpreted = results(name, 0, sums, cells, starts, values, n_columns, n)
    assert compiled == interpreted


@given(seed=seeds, first=st.integers(0, 5), n=lengths)
def test_mismatches_are_counted_alike(seed, first, n):
    cells = array("f", random.Random(seed).choices((0.0, 1.0, 2.0), k=first + n + 1))
    compiled, interpreted = results("add_mismatches", 0, array("f", bytes(4 * n + 4)), cells, first, 1.0, n)
    assert compiled == interpreted


@given(seed=seeds, first=st.integers(0, 5), n=st.integers(0, 200), limit=st.integers(0, 60))
def test_the_last_number_below_a_limit_is_found(seed, first, n, limit):
    numbers = array("f", random.Random(seed).choices(range(50), k=first + n + 1))
    places = [k for k in range(first, first + n) if numbers[k] < limit]
    assert lanes.last_below(numbers, first, first + n, limit) == max(places, default=first - 1)


@given(seed=seeds, n=st.integers(1, 34), more=st.integers(0, 2))
def test_a_symmetric_matrix_is_multiplied_in_one_order(seed, n, more):
    width = 8 * ((n + 7) // 8 + more)
    matrix, vector = symmetric(seed, n, width), drawn(seed + 1, "d", n)
    compiled, interpreted = results(
        "multiply_symmetric", 4, matrix, width, n, vector, array("d", bytes(8 * width))
    )
    assert compiled[: 8 * n] == interpreted[: 8 * n]


@given(seed=seeds, n=st.integers(1, 34), more=st.integers(0, 2))
def test_the_square_of_a_vector_is_subtracted_alike(seed, n, more):
    width = 8 * ((n + 7) // 8 + more)
    vector = drawn(seed + 1, "d", n) + array("d", bytes(8 * (width - n)))
    compiled, interpreted = results(
        "subtract_square", 0, symmetric(seed, n, width), width, n, vector, 1 / 0.999
    )
    assert array("d", compiled) == array("d", interpreted)  # zeros behind the columns may change their sign


def symmetric(seed, n, width):
    """Draw a symmetric matrix with zeros behind each row."""
    matrix = array("d", bytes(8 * n * width))
    for i in range(n):
        row = drawn(seed + i, "d", i + 1)
        for j in range(i + 1):
            matrix[i * width + j] = matrix[j * width + i] = row[j]
    return matrix
