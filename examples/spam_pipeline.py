"""A River pipeline for the service: words and numbers, scaled to one size, into our AROW.

perceptron replay FILE --model examples/spam_pipeline.py:build
PERCEPTRON_CHECKPOINT_KEY=a-long-random-secret perceptron serve --model examples/spam_pipeline.py:build

The service has made features of each event already: a word of the text is `text=word`: 1, a number keeps its
name and size. What the pipeline raises at becomes a dead letter with the reason `model_error`.
"""

from river import base, preprocessing

from perceptron_core import AROW


def build(r: float = 1.0) -> base.Classifier:
    """Make the model; `--model-param r=0.1` gives the parameter. It must do the same with the same events."""
    return preprocessing.MaxAbsScaler() | AROW(r=r)
