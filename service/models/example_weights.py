"""Weights of examples: which models take them, and those that the settings give to classes."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from perceptron_core import Mixture
from service.errors import ConfigurationError
from service.messages.rejection import Reason, Rejection
from service.settings.decisions import weights_of

if TYPE_CHECKING:
    from service.models.learner import Learner


def takes_weights(model: Any) -> bool:  # noqa: ANN401 - any classifier
    """Return whether a model learns examples of any weight: as it declares, or by the w of its `learn_one`.

    A mixture does if each of its experts does. A pipeline does what its last step does.
    """
    while steps := getattr(model, "steps", None):
        model = list(steps.values())[-1]
    if isinstance(model, Mixture):
        return all(map(takes_weights, model.experts))
    declared = getattr(model, "WEIGHT", None)
    return "w" in inspect.signature(model.learn_one).parameters if declared is None else bool(declared)


def check_weight(weight: float | None, *, takes_weights: bool) -> None:
    """Raise `Rejection` if a message has another weight than 1, and its model takes none."""
    if weight is not None and weight != 1.0 and not takes_weights:
        raise Rejection(Reason.MODEL_ERROR, "weight: the model takes no weights of examples")


def weigh_classes(learner: Learner, settings: Any) -> None:  # noqa: ANN401 - `Settings`, which have these
    """Let a learner know the weights of classes. Raises `ConfigurationError` if it takes none."""
    if settings.class_weights and not learner.takes_weights:
        raise ConfigurationError(
            f"class_weights: the model {settings.model} takes no weights of examples",
            hint="the built-in models do, and others whose learn_one has a parameter w",
        )
    learner.class_weights = weights_of(settings.class_weights, settings.classes)
