"""Mistakes of the two-class learners on real streams, beside what the references and the peers make.

    python benchmarks/figures.py [DATA] [--vw PYTHON]

One pass everywhere: predict, then learn. DATA is a folder like ../shared/data (see the README there); PYTHON
an interpreter in whose environment `pip install vowpalwabbit` was done. Without it, Vowpal Wabbit is
represented by the figures given with the data, where there are any.

Each kind of data has one default of this project, the same for all its streams:

    text            SCW()
    binary features AROW()
    dense numbers   AROW(forgetting=0.995, intercept_forgetting=0.95), which may drift
"""

from __future__ import annotations

import argparse
import csv
import random
import re
import statistics
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from river import base, linear_model, preprocessing

from perceptron_core import AROW, SCW, PassiveAggressive, Perceptron

DATA = Path(__file__).parents[2] / "shared" / "data"

Example = tuple[dict[Any, float], bool]
Stream = list[Example]
Maker = Callable[[], Any]

PERMUTATIONS = 20
SHUFFLES = 5

TEXT: Maker = SCW
BINARY: Maker = AROW


def dense() -> AROW:
    """Make the default for dense numbers."""
    return AROW(forgetting=0.995, intercept_forgetting=0.95)


VW_PROGRAM = """
import sys, vowpalwabbit
vw, mistakes = vowpalwabbit.Workspace("--loss_function hinge -b 22 --quiet"), 0
for line in sys.stdin:
    example = vw.parse(line.rstrip())
    vw.learn(example)
    mistakes += (example.get_simplelabel_prediction() > 0) != line.startswith("1")
    vw.finish_example(example)
print(mistakes)
"""
VW_GIVEN = {"SMS words": 110, "SMS characters": 155, "a9a": 5088}
"""Mistakes of VW with hinge loss, as given with the data."""


def sms(data: Path) -> list[tuple[str, bool]]:
    """Read the SMS Spam Collection: texts, and whether they are spam."""
    lines = (data / "sms" / "SMSSpamCollection.tsv").read_text(encoding="utf-8").splitlines()
    return [(text, label == "spam") for label, text in (line.split("\t", 1) for line in lines)]


def words(data: Path) -> Stream:
    """Make binary bags of words of the lower-cased texts."""
    return [(dict.fromkeys(re.findall("[a-z0-9]+", text.lower()), 1.0), spam) for text, spam in sms(data)]


def characters(data: Path) -> Stream:
    """Make binary bags of 4-grams, upper and lower case told apart, scaled to unit length."""
    stream = []
    for text, spam in sms(data):
        grams = {text[at : at + 4]: None for at in range(len(text) - 3)}
        stream.append((dict.fromkeys(grams, len(grams) ** -0.5 if grams else 0.0), spam))
    return stream


def a9a(data: Path) -> Stream:
    """Read the Adult data in file order."""
    rows = (line.split() for line in (data / "a9a" / "a9a").read_text().splitlines())
    return [
        ({index: float(value) for index, value in (pair.split(":") for pair in pairs)}, label == "+1")
        for label, *pairs in rows
    ]


def spambase(data: Path, seed: int = 0) -> Stream:
    """Read Spambase, which is sorted by class, shuffled."""
    rows = [line.split(",") for line in (data / "spambase" / "spambase.data").read_text().split()]
    random.Random(seed).shuffle(rows)
    return [({f"x{at}": float(value) for at, value in enumerate(row[:-1])}, row[-1] == "1") for row in rows]


def elec2(data: Path) -> Stream:
    """Read the price of electricity in order of time."""
    with (data / "elec2" / "elec.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    return [(dict(zip(header[:-1], map(float, row), strict=False)), row[-1] == "1") for row in rows]


def svmguide3(data: Path) -> Stream:
    """Read svmguide3, whose column 0 is the label."""
    from scipy.io import loadmat  # noqa: PLC0415 - slow, and only one figure needs it

    rows = loadmat(data / "svmguide3" / "svmguide3.mat")["data"]
    return [({at: float(value) for at, value in enumerate(row[1:])}, bool(row[0] > 0)) for row in rows]


def standardised(stream: Stream) -> Stream:
    """Standardise as a stream is: each example by those up to it."""
    scaler, scaled = preprocessing.StandardScaler(), []
    for x, y in stream:
        scaler.learn_one(x)
        scaled.append((scaler.transform_one(x), y))
    return scaled


def mistakes(model: base.Classifier, stream: Iterable[Example]) -> int:
    """Predict, then learn, and count what was wrong."""
    wrong = 0
    for x, y in stream:
        wrong += model.predict_one(x) != y
        model.learn_one(x, y)
    return wrong


def vowpal_wabbit(python: str, stream: Stream) -> int:
    """Count VW's mistakes with hinge loss; 0 is a prediction of the negative class."""
    names: dict[Any, int] = {}
    lines = []
    for x, y in stream:
        features = " ".join(f"f{names.setdefault(name, len(names))}:{value!r}" for name, value in x.items())
        lines.append(f"{1 if y else -1} | {features}\n")
    done = subprocess.run(
        [python, "-c", VW_PROGRAM], input="".join(lines), capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def show(name: str, ours: float | str, reference: float | str, reached: bool | None = None) -> None:  # noqa: FBT001
    """Print a figure beside its reference."""
    verdict = "" if reached is None else "reached" if reached else "NOT REACHED"
    print(f"{name:<52} {ours:>16} {reference:>24}  {verdict}".rstrip(), flush=True)


def textbook(data: Path) -> None:
    """Show the plain perceptron's mistakes and updates."""
    for name, stream, expected in (("SMS words", words(data), (171, 207)), ("a9a", a9a(data), (6577, 6948))):
        model = Perceptron()
        found = (mistakes(model, stream), model.n_updates)
        show(
            f"{name}: Perceptron(), mistakes / updates",
            "{:,} / {:,}".format(*found),
            "{:,} / {:,}".format(*expected),
            found == expected,
        )


def libol(data: Path) -> None:
    """Show error rates by LIBOL's protocol: no bias, a ≥ 0 → +1, 20 permutations."""
    stream = svmguide3(data)
    learners: list[tuple[str, Maker, float]] = [
        (
            "Perceptron(update_on_tie=False)",
            lambda: Perceptron(tie=True, update_on_tie=False, fit_intercept=False),
            0.332,
        ),
        (
            'PassiveAggressive(variant="PA")',
            lambda: PassiveAggressive(variant="PA", fit_intercept=False),
            0.318,
        ),
        ("PassiveAggressive(C=0.1)", lambda: PassiveAggressive(C=0.1, fit_intercept=False), 0.236),
        ("AROW()", lambda: AROW(fit_intercept=False), 0.222),
        ("AROW(r=0.5, full=True)", lambda: AROW(r=0.5, full=True, fit_intercept=False), 0.222),
    ]
    for name, make, expected in learners:
        rates = list(_permuted_error_rates(make, stream))
        mean, deviation = statistics.mean(rates), statistics.stdev(rates)
        show(
            f"svmguide3: {name}",
            f"{mean:.3f} ± {deviation:.3f}",
            f"{expected:.3f}",
            abs(mean - expected) <= deviation,
        )


def _permuted_error_rates(make: Maker, stream: Stream) -> Iterator[float]:
    for seed in range(PERMUTATIONS):
        model, order, wrong = make(), list(stream), 0
        random.Random(seed).shuffle(order)
        for x, y in order:
            wrong += (model.score_one(x) >= 0) != y
            model.learn_one(x, y)
        yield wrong / len(order)


def text(data: Path) -> None:
    """Show AROW on text."""
    for name, stream, r, most in (
        ("words", words(data), 1.0, 107),
        ("characters", characters(data), 0.1, 123),
    ):
        found = mistakes(AROW(r=r), stream)
        show(f"SMS {name}: AROW(r={r})", found, f"at most {most}", found <= most)


def peers(data: Path, vw: str | None) -> None:
    """Show our default for each kind of data beside the best of River and Vowpal Wabbit."""
    compare("SMS words", TEXT, [words(data)], vw)
    compare("SMS characters", TEXT, [characters(data)], vw)
    compare("a9a", BINARY, [a9a(data)], vw)
    shuffles = [spambase(data, seed) for seed in range(SHUFFLES)]
    compare("spambase, seed 0", dense, shuffles[:1], vw)
    compare(f"spambase, mean of {SHUFFLES} seeds", dense, shuffles, vw)
    compare("elec2", dense, [elec2(data)], vw)
    compare(
        f"spambase standardised, mean of {SHUFFLES} seeds", dense, [standardised(s) for s in shuffles], vw
    )
    compare("elec2 standardised", dense, [standardised(elec2(data))], vw)


def compare(name: str, ours: Maker, streams: list[Stream], vw: str | None) -> None:
    """Show the mistakes of all on the same streams."""
    rivers = {
        "River Perceptron": linear_model.Perceptron,
        "River PA": linear_model.PAClassifier,
        "River logistic": linear_model.LogisticRegression,
    }
    found = {
        peer: statistics.mean(mistakes(make(), stream) for stream in streams) for peer, make in rivers.items()
    }
    if vw is not None:
        found["VW hinge"] = statistics.mean(vowpal_wabbit(vw, stream) for stream in streams)
    elif name in VW_GIVEN:
        found["VW hinge (given)"] = VW_GIVEN[name]
    best = min(found, key=lambda peer: found[peer])
    mine = statistics.mean(mistakes(ours(), stream) for stream in streams)
    label = ours().__class__.__name__ + (" forgetting" if ours is dense else "")
    show(f"{name}: {label}", f"{mine:,.10g}", f"{best} {found[best]:,.10g}", mine < found[best])


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--vw", metavar="PYTHON", help="interpreter that has vowpalwabbit")
    given = parser.parse_args()
    show("", "ours", "reference")
    textbook(given.data)
    libol(given.data)
    text(given.data)
    peers(given.data, given.vw)


if __name__ == "__main__":
    main()
