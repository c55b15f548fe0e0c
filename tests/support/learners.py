"""Every learner with the parameters that it declares, for the claims that hold for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hypothesis import strategies as st
from river.optim.schedulers import InverseScaling

from perceptron_core import SCW, AveragedPerceptron, BayesianLogistic, KernelPerceptron, Mixture, Perceptron
from perceptron_core.formats.model_bytes import learners
from perceptron_core.linear.binary import BinaryClassifier
from perceptron_core.linear.linear_rule import LinearRule
from perceptron_core.linear.multiclass import MulticlassClassifier

KINDS = ["ant", True, 7, ("bee", 1)]
"""Classes of every type that a file can hold."""


def _declared(kind: type[Any]) -> Iterator[tuple[str, Any]]:
    for name, cls in learners().items():
        if issubclass(cls, kind):
            yield name, cls()
            for parameters in cls.VARIANTS:
                yield (
                    f"{name}({','.join(f'{key}={value}' for key, value in parameters.items())})",
                    cls(**parameters),
                )


TWO_CLASS: dict[str, BinaryClassifier] = {
    **dict(_declared(BinaryClassifier)),
    "perceptron(schedule)": Perceptron(threshold=0.5, tie=True, learning_rate=InverseScaling(2.0)),
    "averaged-perceptron(schedule)": AveragedPerceptron(learning_rate=InverseScaling(1.0)),
    "mixture(of any)": Mixture(
        [KernelPerceptron(), Perceptron(threshold=0.5), Mixture([BayesianLogistic(), SCW()])],
        mixers=[(0.5, 0.9)],
        discount=0.5,
    ),
}
"""Untrained; to be cloned."""
SEVERAL: dict[str, MulticlassClassifier] = {
    **dict(_declared(MulticlassClassifier)),
    **{
        f"{name}(classes)": cls(KINDS)
        for name, cls in learners().items()
        if issubclass(cls, MulticlassClassifier)
    },
}
LINEAR = {name: model for name, model in TWO_CLASS.items() if isinstance(model, LinearRule)}
"""Those that features can be hashed for."""


def any_of(models: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Draw one of these models, untrained."""
    return st.sampled_from([*models]).map(lambda name: models[name].clone())


def variants(models: Mapping[str, Any], name: str) -> Iterator[Any]:
    """Yield a learner with all the parameters that it is tested with."""
    for each, model in models.items():
        if each.partition("(")[0] == name:
            yield model.clone()


# Small integers, so that sums of them are exact.
integers = st.integers(-8, 8)
examples = st.tuples(st.dictionaries(st.sampled_from("abcde"), integers, max_size=5), st.booleans())
streams = st.lists(examples, max_size=30)


def learn(model: Any, stream: Any) -> Any:
    """Learn a stream of (x, y) or (x, y, w); return the model."""
    for example in stream:
        model.learn_one(*example)
    return model
