"""The format `sklearn`: a linear model as a pickled pipeline of scikit-learn's own classes."""

from __future__ import annotations

import pickle
import re
from typing import Any

from service.formats.extra import need
from service.lab.export.linear import TEXT, LinearModel, fixed_weights


def export(model: LinearModel) -> bytes:
    """Write a model down. It takes dictionaries of features, or texts where all features are words.

    Raises
    ------
    ConfigurationError
        scikit-learn is not installed, or cannot make these features.

    """
    need("sklearn", "--format sklearn", "sklearn")
    return pickle.dumps(pipeline(model))


def pipeline(model: LinearModel) -> Any:  # noqa: ANN401 - scikit-learn is untyped
    """Return the pipeline. Raises `ConfigurationError` as `export` does."""
    import numpy as np  # noqa: PLC0415 - with scikit-learn, an extra
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415

    _check(model)
    weights = fixed_weights(model, "sklearn")
    names = list(weights)
    classifier = _classifier(model)
    classifier.classes_ = np.array(model.labels)
    classifier.coef_ = np.array([weights[name] for name in names]).T
    classifier.intercept_ = np.array(model.biases) - model.threshold
    classifier.n_features_in_ = len(names)
    return make_pipeline(_vectorizer(model, names), classifier)


def _classifier(model: LinearModel) -> Any:  # noqa: ANN401 - as above
    from sklearn.linear_model import LogisticRegression, Perceptron  # noqa: PLC0415

    return LogisticRegression() if model.has_log_odds else Perceptron()


def _vectorizer(model: LinearModel, names: list[str]) -> Any:  # noqa: ANN401 - as above
    import numpy as np  # noqa: PLC0415
    from sklearn.feature_extraction import DictVectorizer  # noqa: PLC0415
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415

    settings = model.settings
    if not model.has_text:
        vectorizer = DictVectorizer()
        vectorizer.feature_names_ = names
        vectorizer.vocabulary_ = {name: column for column, name in enumerate(names)}
        return vectorizer
    return CountVectorizer(
        vocabulary={name.removeprefix(TEXT): column for column, name in enumerate(names)},
        ngram_range=tuple(settings.ngrams),
        token_pattern=settings.token_pattern,
        lowercase=settings.lowercase,
        binary=settings.text_values == "binary",
        dtype=np.float64,
    )


def _check(model: LinearModel) -> None:
    settings = model.settings
    if settings.hash_bits:
        raise model.refuse("sklearn", "its hashing gives names of two signs one index, which ours does not")
    if settings.normalize != "none":
        raise model.refuse("sklearn", f"normalize={settings.normalize} counts words that the model never saw")
    if not model.has_text:
        return
    if not all(name.startswith(TEXT) for name in model.weights):
        raise model.refuse("sklearn", "features beside a text have no place in a vectorizer of its own")
    if settings.text != "words" or re.compile(settings.token_pattern).groups:
        cut = f"text={settings.text}, token_pattern={settings.token_pattern!r}"
        raise model.refuse("sklearn", f"its CountVectorizer cuts texts otherwise than {cut}")
