"""The multiclass perceptron."""

from __future__ import annotations

from perceptron_core.base.example_weights import OF_STEP
from perceptron_core.base.multiclass_linear import LinearMulticlass
from perceptron_core.base.multiclass_rule import AdditiveMulticlassRule
from perceptron_core.base.update import NO_CLASS, Update
from perceptron_core.weights.example import Example


class MulticlassPerceptronRule(AdditiveMulticlassRule):
    """Updates on a mistake."""

    def learn(self, x: Example, number: int, w: float) -> Update | None:
        """Learn an example; its weight is the step."""
        guess = self.best(NO_CLASS)
        if guess == number:
            return None
        step = Update(w, self.labels[number], self.labels[guess])
        self.move(x, number, guess, w, 0)
        return step


class MulticlassPerceptron(MulticlassPerceptronRule, LinearMulticlass):
    """Perceptron for any number of classes: one weight vector each, the highest score decides.

    With all weights 0 at the start, for every example: ŷ is the class with the highest w_c·x + b_c. On a
    mistake w_y ← w_y + x, b_y ← b_y + 1 and w_ŷ ← w_ŷ − x, b_ŷ ← b_ŷ − 1. Otherwise nothing is written.

    Parameters
    ----------
    classes
        All labels there may be, two or more; a label that is none of them is refused. None: the
        classes are those seen so far, and a new one starts with zero weights.
    fit_intercept
        Whether each class has a bias. Folding it in as a constant feature 1 gives the same answers.

    Attributes
    ----------
    weights : dict
        Non-zero weights by feature, by class. Computed when asked for. They sum to 0 over the classes.
    bias : dict
        Bias by class.
    n_mistakes : int
        Examples that `learn_one` found misclassified before the update. The first example of a
        class not named in `classes` is always one of them.
    n_updates : int
        Updates made.

    Notes
    -----
    At a tie the class decides that comes first in `classes`, else the one seen first.

    With two classes (a, b), w_b is always −w_a: the predictions are those of `Perceptron` with b for
    True and `update_on_tie=False`, where the tie goes to False. No other setting of `Perceptron` has
    a multiclass counterpart: at a tie the guess is right or wrong here, and only wrong ones update.

    If some vectors with Σ‖w_c‖² = 1 score every example's class above the others by γ or more and
    ‖x‖ ≤ R (with the intercept: ‖x‖² + 1 ≤ R²), and `classes` is given, there are at most 2R²/γ²
    mistakes, however many classes there are: Novikoff's proof on Kesler's construction.

    References
    ----------
    Duda, R. O. and Hart, P. E. (1973). Pattern Classification and Scene Analysis, section 5.12
    (Kesler's construction).

    Crammer, K. and Singer, Y. (2003). Ultraconservative online algorithms for multiclass problems.
    Journal of Machine Learning Research 3. Ours is their update with the one highest wrong class.

    Examples
    --------
    >>> from perceptron_core import MulticlassPerceptron
    >>> model = MulticlassPerceptron()
    >>> stream = [("cats purr", "cat"), ("dogs bark", "dog"), ("birds sing", "bird"), ("dogs purr", "dog")]
    >>> for text, y in stream:
    ...     x = dict.fromkeys(text.split(), 1.0)
    ...     print(model.predict_one(x), end=" ")
    ...     model.learn_one(x, y)
    None cat dog dog
    >>> model.weights["bird"], model.bias["bird"]
    ({'birds': 1.0, 'sing': 1.0}, 1.0)
    >>> model.n_mistakes, model.n_updates
    (3, 2)

    On River's 2,310 image segments of seven kinds:

    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> pipeline = preprocessing.StandardScaler() | MulticlassPerceptron()
    >>> evaluate.progressive_val_score(datasets.ImageSegments(), pipeline, metrics.Accuracy())
    Accuracy: 83.37%

    """

    NAME = "multiclass-perceptron"
    WEIGHT = OF_STEP
    VARIANTS = ({"fit_intercept": False},)
