"""Two-class learners whose rule is compiled. In: a rule. Out: what River asks of a learner."""

from __future__ import annotations

from perceptron_core.binary import BinaryClassifier
from perceptron_core.copies import Copied
from perceptron_core.rules import BinaryRule


class CompiledClassifier(BinaryRule, Copied, BinaryClassifier):
    """A two-class learner in two halves: River's interface, and a rule that learns."""
