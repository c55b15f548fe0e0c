"""Make features of others and of fields, by the expressions of `events.derive`."""

from __future__ import annotations

from collections.abc import Sequence

from perceptron_core.validation import MAX_MAGNITUDE
from service.expressions.compiler import compile_expression
from service.expressions.functions import NoValue
from service.mapping.features import Features, Missing
from service.mapping.skipping import NOTHING
from service.messages.rejection import Reason, Rejection


class Derived:
    """Derived features, in their order.

    Parameters
    ----------
    expressions
        Names with expressions.
    missing
        Values of fields that mean that there is none.

    """

    def __init__(self, expressions: Sequence[tuple[str, str]], missing: Missing) -> None:
        is_missing = Features(0, missing).is_missing if missing else lambda _: False
        names = [name for name, _ in expressions]
        made = [
            (name, compile_expression(text, names[:n], is_missing))
            for n, (name, text) in enumerate(expressions)
        ]
        self.uses = frozenset(place for _, each in made for place in each.uses)
        self._made = [(name, each.evaluate) for name, each in made]

    def add(self, features: Features, document: object) -> None:
        """Add them; one of a feature's name takes its place. Raises `Rejection`."""
        found = features.found
        for name, evaluate in self._made:
            try:
                value = evaluate(found, document)
                if not isinstance(value, (str, list, dict)):
                    value = value if -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE else None
            except (NoValue, ArithmeticError):
                value = None
            except (TypeError, ValueError) as error:
                raise Rejection(Reason.INVALID_TYPE, f"{name} (events.derive): {error}") from None
            if value is None or isinstance(value, (list, dict)):
                found.pop(name, None)
                features.add(value, name, f"{name}.", NOTHING)
            else:
                found[name] = value
