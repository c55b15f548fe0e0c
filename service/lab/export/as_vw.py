"""The format `vw`: a linear model of Vowpal Wabbit, whose weights are floats of 32 bits.

It hashes names as the service does: MurmurHash3 with the seed 0 for the namespace without a name.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import mmh3

from service.formats.extra import need
from service.lab.export.linear import LinearModel, fixed_weights

_CONSTANT: Final = 11650396
"""The index of Vowpal Wabbit's intercept, of which the lowest bits count."""
_UNSAYABLE: Final = re.compile(r"[\s:|\ud800-\udfff]|^$")
_UNSAYABLE_LABEL: Final = re.compile(r"[^\w.+-]|^-|^$")
_MOST_BITS: Final = 24
_NO_CLIPPING: Final = "--min_prediction -1e38 --max_prediction 1e38"


def export(model: LinearModel) -> bytes:
    """Write a model down.

    Raises
    ------
    ConfigurationError
        vowpalwabbit is not installed, or its lines and weights cannot say this model.

    """
    need("vowpalwabbit", "--format vw", "vw")
    from vowpalwabbit import Workspace  # noqa: PLC0415 - an extra

    weights = fixed_weights(model, "vw")
    _check(model)
    n_cells = 1 << (len(model.biases) - 1).bit_length()  # of each feature: a power of two
    indices, bits = _indices(model, weights)
    options = f"--quiet --no_stdin --sgd --hash all {_NO_CLIPPING} -b {bits + n_cells.bit_length() - 1}"
    if n_cells > 1:
        options += f" --oaa {len(model.labels)} --named_labels {','.join(model.label_names)}"
    workspace = Workspace(options)
    biases = [bias - model.threshold for bias in model.biases]
    for index, row in zip([*indices, _CONSTANT % (1 << bits)], [*weights.values(), biases], strict=True):
        for number, weight in enumerate(row):
            workspace.set_weight(index * n_cells + number, 0, weight)
    return _saved(workspace)


def _check(model: LinearModel) -> None:
    if model.positive_at_threshold:
        raise model.refuse("vw", "a score at the threshold is positive, which is negative there")
    if model.settings.normalize != "none":
        raise model.refuse("vw", f"normalize={model.settings.normalize} is not known there")
    names: Iterable[str] = () if model.settings.hash_bits else model.weights
    for name in names:
        if _UNSAYABLE.search(name):
            raise model.refuse("vw", f"a line cannot name the feature {name!r}")
    for label in model.label_names if len(model.biases) > 1 else ():
        if _UNSAYABLE_LABEL.search(label):
            raise model.refuse("vw", f"--named_labels cannot name the class {label!r}")


def _indices(model: LinearModel, weights: Mapping[Any, Sequence[float]]) -> tuple[list[int], int]:
    """Return an index below 2**bits for each feature, all different, and the bits."""
    if model.settings.hash_bits:
        bits = [model.settings.hash_bits]
        hashes = list(weights)
    else:
        bits = list(range(10, _MOST_BITS + 1))
        hashes = [mmh3.hash(name.encode(), 0, signed=False) for name in weights]
    for each in bits:
        indices = [found % (1 << each) for found in hashes]
        if len({*indices, _CONSTANT % (1 << each)}) > len(indices):
            return indices, each
    raise model.refuse("vw", f"two features, or one and the intercept, have one index in {bits[-1]} bits")


def _saved(workspace: Any) -> bytes:  # noqa: ANN401 - untyped
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.vw"
        workspace.save(str(path))
        workspace.finish()
        return path.read_bytes()
