"""The format `onnx`: a linear model over columns of numbers, whose names are in the metadata."""

from __future__ import annotations

import json

from service.formats.extra import need
from service.lab.export.linear import LinearModel

_OPSET = 13
_IR_VERSION = 8


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
    import numpy as np  # noqa: PLC0415 - onnx is an extra
    from onnx import TensorProto, checker, helper, numpy_helper  # noqa: PLC0415

    node = helper.make_node
    names, several = list(model.weights), len(model.biases) > 1
    constants = {
        "weights": np.array([model.weights[name] for name in names]),
        "bias": np.array(model.biases),
        "labels": np.array(model.label_names, dtype=object),
        "threshold": np.array([model.threshold]),
        "first": np.array([0]),
        "scales": np.array([model.scales.get(name, 1.0) for name in names]),
    }
    scaled = [
        node("Abs", ["features"], ["sizes"]),
        node("Max", ["sizes", "scales"], ["divisors"]),
        node("Div", ["features", "divisors"], ["values"]),
    ]
    fires = "GreaterOrEqual" if model.positive_at_threshold else "Greater"
    decided = [
        node(fires, ["scores", "threshold"], ["above"]),
        node("Cast", ["above"], ["numbers"], to=TensorProto.INT64),
        node("Squeeze", ["numbers", "last"], ["best"]),
    ]
    constants["last"] = np.array([1])
    graph = helper.make_graph(
        [
            *(scaled if model.scales else []),
            node("MatMul", ["values" if model.scales else "features", "weights"], ["sums"]),
            node("Add", ["sums", "bias"], ["scores"]),
            *([node("ArgMax", ["scores"], ["best"], axis=1, keepdims=0)] if several else decided),
            node("Gather", ["labels", "best"], ["label"]),
        ],
        "linear",
        [helper.make_tensor_value_info("features", TensorProto.DOUBLE, ["rows", len(names)])],
        [
            helper.make_tensor_value_info("label", TensorProto.STRING, ["rows"]),
            helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["rows", len(model.biases)]),
        ],
    )
    used = {name for each in graph.node for name in each.input}
    graph.initializer.extend(
        numpy_helper.from_array(value, name) for name, value in constants.items() if name in used
    )
    made = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="online-perceptron",
    )
    helper.set_model_props(made, {"features": json.dumps(names), "learner": model.learner})
    checker.check_model(made)
    written: bytes = made.SerializeToString()
    return written
