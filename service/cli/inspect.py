"""`perceptron inspect`: what a model has learned. In: a model file. Out: its weights and counts."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click

from service.cli.table import one_line
from service.model_file import ModelKind, read_model_file


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--top", type=click.IntRange(0), default=20, metavar="INTEGER", help="Weights shown.  [default: 20]"
)
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Form of the output; json has every weight, with every digit.",
)
def command(file: Path, *, top: int, output: str) -> None:
    """Show the model in FILE: its class and parameters, its counts, its largest weights.

    A positive weight speaks for the positive class, a negative one for the other; what decides is the
    sign of bias + the sum of weight times value. The norm is the length of the weight vector, without
    the bias. FILE is what `perceptron checkpoint export` or `perceptron replay --save` wrote.
    """
    model = read_model_file(file)
    shown = _described(model)
    click.echo(json.dumps(shown, ensure_ascii=False) if output == "json" else _as_text(shown, top))


def _described(model: Any) -> dict[str, Any]:  # noqa: ANN401 - any of perceptron_core's models
    kind = ModelKind.of(model)
    return {
        "class": kind.name,
        "parameters": kind.parameters,
        "bias": model.bias,
        "n_mistakes": model.n_mistakes,
        "n_updates": model.n_updates,
        "norm": math.hypot(*model.weights.values()),
        "weights": {str(name): weight for name, weight in model.weights.items()},
    }


def _as_text(shown: dict[str, Any], top: int) -> str:
    weights: dict[str, float] = shown["weights"]
    facts = {
        "class": shown["class"],
        "parameters": ", ".join(f"{name}={value!r}" for name, value in shown["parameters"].items()),
        "bias": f"{shown['bias']:g}",
        "norm": f"{shown['norm']:g}",
        "weights": f"{len(weights):,}",
        "mistakes": f"{shown['n_mistakes']:,}",
        "updates": f"{shown['n_updates']:,}",
    }
    lines = [f"{name:<12}{value}" for name, value in facts.items()]
    ranked = sorted(weights.items(), key=lambda item: (-abs(item[1]), item[0]))[:top]
    if ranked:
        names = [one_line(name) for name, _ in ranked]
        width = max(map(len, names))
        lines += ["", f"largest {len(ranked):,} of {len(weights):,} weights"]
        lines += [
            f"  {name:<{width}} {weight:>+12.4f}" for name, (_, weight) in zip(names, ranked, strict=True)
        ]
    return "\n".join(lines)
