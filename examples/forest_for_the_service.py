"""A River model for the service: `perceptron replay FILE --model examples/forest_for_the_service.py:build`.

`perceptron serve` runs it too, and checkpoints it as a signed pickle: set PERCEPTRON_CHECKPOINT_KEY first.
"""

from river import base, forest


def build(n_models: int = 5, seed: int = 1) -> base.Classifier:
    """Make the model; parameters come from `--model-param n_models=10`. Seeded, as recovery replay ."""
    return forest.ARFClassifier(n_models=n_models, seed=seed)
