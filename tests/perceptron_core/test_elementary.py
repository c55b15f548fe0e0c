"""Elementary functions: within 1 ulp, and the same to the last place everywhere.

PERCEPTRON_FUZZ_INPUTS says at how many points, PERCEPTRON_FUZZ_SEED at which.
"""

import importlib.util
import json
import math
import os
import random
import subprocess
import sys
from array import array
from pathlib import Path

import pytest
from mpmath import mp

from perceptron_core import COMPILED, elementary
from perceptron_core.elementary import normal_quantile
from tests.support.last_places import digests

POINTS = int(os.environ.get("PERCEPTRON_FUZZ_INPUTS", "20000"))
SEED = int(os.environ.get("PERCEPTRON_FUZZ_SEED", "1"))
FAR = 1e5
"""As far as the cosine goes."""


def signed(chance, low, high):
    """Draw a number of either sign, whose size is drawn on a logarithmic scale."""
    return chance.choice((-1, 1)) * math.exp(chance.uniform(math.log(low), math.log(high)))


def size(chance, low, high):
    return abs(signed(chance, low, high))


DRAWN = {
    "exp": [lambda c: (c.uniform(-745, 709.7),), lambda c: (signed(c, 1e-18, 1),)],
    "log": [
        lambda c: (c.uniform(0, 3),),
        lambda c: (size(c, 5e-324, 1e308),),
        lambda c: (1 + signed(c, 1e-15, 0.4),),
    ],
    "log1p": [lambda c: (signed(c, 1e-18, 0.99),), lambda c: (size(c, 1e-3, 1e300),)],
    "asinh": [lambda c: (signed(c, 1e-6, 1e7),), lambda c: (signed(c, 1e-300, 1e308),)],
    "hypot": [
        lambda c: (c.uniform(-9, 9), c.uniform(-9, 9)),
        lambda c: (signed(c, 1e-9, 1e9), signed(c, 1e-9, 1e9)),
        lambda c: (signed(c, 1e-290, 1e290),) * 2,
    ],
    "cosine": [lambda c: (c.uniform(-8, 8),), lambda c: (c.uniform(-FAR, FAR),)],
}
REFERENCE = {"exp": mp.exp, "log": mp.log, "log1p": mp.log1p, "asinh": mp.asinh, "hypot": mp.hypot}


def points(name, count):
    chance = random.Random(f"{SEED} {name}")
    draws = DRAWN[name]
    return (draws[k % len(draws)](chance) for k in range(count))


def error(name, point):
    """Return the error in units in the last place of the nearest double."""
    with mp.workprec(140):
        exact = REFERENCE[name](*map(mp.mpf, point))
        return abs(mp.mpf(getattr(elementary, name)(*point)) - exact) / math.ulp(float(exact))


@pytest.mark.parametrize("name", REFERENCE)
def test_no_error_exceeds_the_documented_units_in_the_last_place(name):
    worst = max(points(name, POINTS // len(REFERENCE)), key=lambda point: error(name, point))
    assert error(name, worst) < (2 if name in {"asinh", "hypot"} else 0.8), worst


def test_error_of_the_cosine_is_at_most_2e_10():
    assert max(abs(elementary.cosine(x) - math.cos(x)) for (x,) in points("cosine", POINTS)) < 2e-10


@pytest.mark.parametrize(
    ("name", "x", "expected"),
    [
        ("exp", 709.782712893384, 1.7976931348622732e308),
        ("exp", 709.7827128933841, math.inf),
        ("exp", math.inf, math.inf),
        ("exp", -746.0, 0.0),
        ("exp", -math.inf, 0.0),
        ("exp", 0.0, 1.0),
        ("exp", math.nan, math.nan),
        ("log", 0.0, -math.inf),
        ("log", -1.0, math.nan),
        ("log", 1.0, 0.0),
        ("log", math.inf, math.inf),
        ("log", math.nan, math.nan),
        ("log1p", -1.0, -math.inf),
        ("log1p", -2.0, math.nan),
        ("log1p", 1e-300, 1e-300),
        ("asinh", -math.inf, -math.inf),
        ("asinh", math.nan, math.nan),
    ],
)
def test_elementary_functions_are_exact_at_the_ends_of_their_range(name, x, expected):
    assert repr(getattr(elementary, name)(x)) == repr(expected)


@pytest.fixture(scope="module")
def interpreted():
    source = Path(elementary.__file__).with_name("elementary.py")
    spec = importlib.util.spec_from_file_location("elementary_interpreted", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not COMPILED, reason="it would be compared with itself")
@pytest.mark.parametrize("name", DRAWN)
def test_interpreter_computes_the_same_bits(interpreted, name):
    ours, theirs = getattr(elementary, name), getattr(interpreted, name)
    assert [point for point in points(name, POINTS // 10) if ours(*point) != theirs(*point)] == []


def test_vectorized_cosines_equal_single_ones():
    chance = random.Random(SEED)
    sums = array("d", [chance.uniform(-1000, 1000) for _ in range(203)])
    values = array("d", bytes(8 * len(sums)))
    elementary.write_cosines(sums, values, len(sums), 1.5)
    assert values.tolist() == [1.5 * elementary.cosine(x) for x in sums]


@pytest.mark.parametrize("p", [0.5 + 2**-53, 0.6, 0.7, 0.9, 0.975, 1 - 2**-53])
def test_quantile_is_the_nearest_double(p):
    with mp.workprec(200):
        assert normal_quantile(p) == float(mp.sqrt(2) * mp.erfinv(2 * mp.mpf(p) - 1))


def test_learners_give_the_same_bits_without_fused_multiply_add():
    """`auto` on numbers and on texts, and all other learners: glibc has other functions there."""
    without = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-AVX2,-FMA4,-AVX512F"}
    ended = subprocess.run(
        [sys.executable, "-m", "tests.support.last_places"],
        env=os.environ | without,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
    )
    here, there = digests(), json.loads(ended.stdout)
    assert [name for name in here if here[name] != there[name]] == []
