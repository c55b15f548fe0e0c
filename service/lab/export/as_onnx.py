"""The format `onnx`: a linear model over columns of numbers, whose names are in the metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from service.formats.extra import need
from service.lab.export.linear import LinearModel

_OPSET: Final = 13
_IR_VERSION: Final = 8
_INT64: Final = 7
"""The type, as ONNX numbers it."""


def export(model: LinearModel) -> bytes:
    """Write a model down: input `features` (rows × columns), outputs `label` and `scores`.

    Raises
    ------
    ConfigurationError
        onnx is not installed, or the model reads texts or hashes names.

    """
    need("onnx", "--format onnx", "onnx")
    settings = model.settings
    if model.has_text:
        raise model.refuse("onnx", "there is no operator that cuts or hashes texts and names as here")
    if settings.normalize != "none":
        raise model.refuse("onnx", f"normalize={settings.normalize} counts features that are no columns")
    from onnx import TensorProto, checker, helper, numpy_helper  # noqa: PLC0415 - an extra

    names = list(model.weights)
    nodes = [helper.make_node(*each[:3], **each[3]) for each in _operations(model)]
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes,
        "linear",
        [helper.make_tensor_value_info("features", TensorProto.DOUBLE, ["rows", len(names)])],
        [
            helper.make_tensor_value_info("label", TensorProto.STRING, ["rows"]),
            helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["rows", len(model.biases)]),
        ],
        [numpy_helper.from_array(each, name) for name, each in _constants(model).items() if name in used],
    )
    opsets = [helper.make_opsetid("", _OPSET)]
    made = helper.make_model(
        graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="online-perceptron"
    )
    helper.set_model_props(made, {"features": json.dumps(names), "learner": model.learner})
    checker.check_model(made)
    written: bytes = made.SerializeToString()
    return written


def _constants(model: LinearModel) -> dict[str, Any]:
    return {
        "weights": np.array(list(model.weights.values())),
        "bias": np.array(model.biases),
        "labels": np.array(model.label_names, dtype=object),
        "threshold": np.array([model.threshold]),
        "scales": np.array(list(model.scales.values())),
        "columns": np.array([1]),
    }


def _operations(model: LinearModel) -> Iterator[tuple[str, list[str], list[str], dict[str, int]]]:
    """Yield operators with inputs, outputs and attributes."""
    values = "features"
    if model.scales:
        yield "Abs", ["features"], ["sizes"], {}
        yield "Max", ["sizes", "scales"], ["divisors"], {}
        yield "Div", ["features", "divisors"], ["values"], {}
        values = "values"
    yield "MatMul", [values, "weights"], ["sums"], {}
    yield "Add", ["sums", "bias"], ["scores"], {}
    if len(model.biases) > 1:
        yield "ArgMax", ["scores"], ["best"], {"axis": 1, "keepdims": 0}
    else:
        above = "GreaterOrEqual" if model.positive_at_threshold else "Greater"
        yield above, ["scores", "threshold"], ["fires"], {}
        yield "Cast", ["fires"], ["numbers"], {"to": _INT64}
        yield "Squeeze", ["numbers", "columns"], ["best"], {}
    yield "Gather", ["labels", "best"], ["label"], {}
