"""A concept that turns round halfway: the running average remembers too well, the decaying one adapts.

python examples/drifting_stream.py
"""

import random

from perceptron_core import AveragedPerceptron, Perceptron

EVENTS = 4000


def mistakes(model: Perceptron | AveragedPerceptron) -> int:
    """Count the prequential mistakes of `model` on two features whose meaning swaps in the middle."""
    rng = random.Random(3)  # noqa: S311  a made-up stream
    wrong = 0
    for number in range(EVENTS):
        x = {"a": rng.gauss(0, 1), "b": rng.gauss(0, 1)}
        sign = 1 if number < EVENTS // 2 else -1
        y = sign * (x["a"] - x["b"]) + rng.gauss(0, 0.5) > 0
        wrong += model.predict_one(x) != y
        model.learn_one(x, y)
    return wrong


def main() -> None:
    """Print the mistakes of each."""
    print(f"{'perceptron':<18} {mistakes(Perceptron()):>5}")
    print(f"{'running average':<18} {mistakes(AveragedPerceptron()):>5}")
    print(f"{'decaying average':<18} {mistakes(AveragedPerceptron(decay=0.1)):>5}")


if __name__ == "__main__":
    main()
