"""Mixers of the same parameters, one for each class, that mix and learn together.

This is the interpreted form; `mixers.pyx` is the compiled one, which means the same, and
computes several classes at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

from perceptron_core.mixing.mixer import Mixer
from perceptron_core.weights.buffers import doubles

_LANES: Final = 4
"""Classes whose inputs are side by side."""


class Mixers:
    """Mixes and learns as each of its mixers would by itself; they know of it after `give`.

    Input j of class c, of `width` inputs of each, is number 4·(width·⌊c/4⌋ + j) + c mod 4.

    Parameters
    ----------
    mixers
        One for each class.

    Attributes
    ----------
    answers : array
        Of `mix`, by class.

    """

    def __init__(self, mixers: Sequence[Mixer]) -> None:
        self._mixers = [*mixers]
        self.answers = doubles(len(self._mixers))

    def give(self) -> None:
        """Let the mixers know what was learned."""

    def mix(self, inputs: array[float], width: int, first: int) -> None:
        """Compute the answers, of inputs from the first one given on."""
        for c, mixer in enumerate(self._mixers):
            self.answers[c] = mixer.mix(self._of_class(inputs, width, first, c))

    def learn(
        self,
        inputs: array[float],
        width: int,
        first: int,
        number: int,
        w: float,
        information: array[float],
    ) -> None:
        """Learn an example of a class and weight w; `information` is by class, as in `Mixer.learn`."""
        for c, mixer in enumerate(self._mixers):
            own = self._of_class(inputs, width, first, c)
            mixer.learn(own, c == number, w, mixer.mix(own), information[c])

    def _of_class(self, inputs: array[float], width: int, first: int, c: int) -> array[float]:
        start, end = _LANES * width * (c // _LANES), _LANES * width * (c // _LANES + 1)
        return inputs[start + c % _LANES : end : _LANES][first:]
