"""`perceptron inspect` and `export`: what a model file has; `schema`: what a message has."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click
from rich.filesize import decimal

from service.cli.commands.training import load_model_file
from service.cli.options import Integer, format_option, setting_options
from service.cli.output import echo, echo_result, report
from service.cli.source_options import OutputPath, check_outputs
from service.cli.summary import weight_rows
from service.messages.schema import KINDS, json_schema
from service.models.model_file import ModelKind, read_model_file, write_atomically
from service.redaction import one_line
from service.settings.declaration import Decides
from service.settings.fields import names_that_decide
from service.settings.load import Loaded

_PARTS: Final = ("support", "survivors")


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--top", type=Integer(0), default=20, help="Weights shown.  [default: 20]")
@format_option("Form of the output; json has every weight, with every digit.")
def inspect_command(file: Path, *, top: int, output: str) -> None:
    """Show the model in FILE: its class and parameters, its counts, its largest weights, its settings.

    A positive weight speaks for the positive class, a negative one for the other; what decides is the
    sign of bias + the sum of weight times value. A model of several classes has a bias and weights for
    each, and the largest sum decides. The norm is the length of the weights, without the
    bias. FILE is what `perceptron checkpoint export` or `perceptron replay --save` wrote.
    """
    found = read_model_file(file)
    model, shown = found.model, _described(found.model)
    if found.settings is not None:
        shown["settings"] = found.settings
    echo_result(output, shown, lambda: _as_text(model, shown, top))


def _described(model: Any) -> dict[str, Any]:  # noqa: ANN401 - any of perceptron_core's models
    kind = ModelKind.of(model)
    vectors = _vectors(model)
    described = {
        "class": kind.name,
        "parameters": kind.parameters,
        "n_mistakes": model.n_mistakes,
        "n_updates": model.n_updates,
    }
    if hasattr(model, "bias"):
        described["bias"] = _plain(model.bias)
    if hasattr(model, "weights"):
        described |= {
            "norm": math.hypot(*(weight for vector in vectors.values() for weight in vector.values())),
            "weights": _plain(model.weights),
        }
    # What decides where there is no one weight vector: examples (kernel) or weight vectors (voted).
    return described | {name: len(getattr(model, name)) for name in _PARTS if hasattr(model, name)}


def _vectors(model: Any) -> Mapping[Any, Mapping[Any, float]]:  # noqa: ANN401 - as above
    """Return the weight vectors by class; a model of two classes has one, which belongs to none."""
    weights = getattr(model, "weights", {})
    return weights if isinstance(getattr(model, "bias", None), Mapping) else {None: weights}


def _plain(value: Any) -> Any:  # noqa: ANN401 - a number, or a table of such
    """Return the value with strings as keys, as JSON requires."""
    return {str(name): _plain(each) for name, each in value.items()} if isinstance(value, Mapping) else value


def _as_text(model: Any, shown: Mapping[str, Any], top: int) -> str:  # noqa: ANN401 - as above
    weights = [
        (one_line(str(name) if label is None else f"{label}: {name}"), weight)
        for label, vector in _vectors(model).items()
        for name, weight in vector.items()
    ]
    facts = {
        "class": shown["class"],
        "parameters": _assigned(shown["parameters"]),
        "bias": _bias_text(model.bias) if "bias" in shown else "",
        "norm": f"{shown['norm']:g}" if "norm" in shown else "",
        "weights": f"{len(weights):,}" if "weights" in shown else "",
        **{name: f"{shown[name]:,}" for name in _PARTS if name in shown},
        "mistakes": f"{shown['n_mistakes']:,}",
        "updates": f"{shown['n_updates']:,}",
        "made with": one_line(_assigned(shown.get("settings", {}))),
    }
    lines = [f"{name:<12}{value}" for name, value in facts.items() if value]
    ranked = sorted(weights, key=lambda item: (-abs(item[1]), item[0]))[:top]
    if ranked:
        lines += ["", f"largest {len(ranked):,} of {len(weights):,} weights", *weight_rows(ranked)]
    return "\n".join(lines)


def _assigned(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _bias_text(bias: float | Mapping[Any, float]) -> str:
    if isinstance(bias, Mapping):
        return one_line(", ".join(f"{label}: {each:g}" for label, each in bias.items()))
    return f"{bias:g}"


_FORMATS: Final = "json", "sklearn", "onnx"


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--format", "form", type=click.Choice(_FORMATS), required=True, help="Form of the output.")
@click.option("--output", type=OutputPath(), metavar="FILE", required=True, help="Where to write it.")
@setting_options("classes", *names_that_decide(Decides.TEXT), "hash_bits")
def export_command(model: Path, form: str, output: Path, loaded: Loaded) -> None:
    """Write the linear model in the model file MODEL as JSON, for scikit-learn or for ONNX.

    The scores of an export are those of the model; what a format cannot express is refused. MODEL is what
    `perceptron train --save`, `replay --save` or `checkpoint export` wrote; it contains its classes and how
    features were made.
    """
    check_outputs(click.get_current_context(), model)
    file, loaded = load_model_file(model, loaded)
    exports = import_module("service.lab.export")
    content = exports.EXPORTS[form](exports.linear_model(file.model, loaded.settings))
    write_atomically(output, content)
    report("exported", "green", f"{model} to {output}, {decimal(len(content))}")


@click.command()
@click.argument("message", type=click.Choice(list(KINDS)))
def schema_command(message: str) -> None:
    """Print the JSON Schema of a MESSAGE."""
    echo(json.dumps(json_schema(message), indent=2, ensure_ascii=False))
