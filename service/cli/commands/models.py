"""`perceptron inspect` and `export` read model files; `schema` shows messages, `config` the settings."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import click
from pydantic import SecretStr

from service.cli.commands.training import load_model_file
from service.cli.help import SettingsCommand
from service.cli.options import format_option, setting_options
from service.cli.output import echo, echo_result, report
from service.cli.source_options import check_outputs, output_option
from service.cli.summary import ABSENT, facts, largest_weights, size_text, table
from service.lab.loaded_model import decisions_in
from service.messages.labels import Vocabulary
from service.messages.schema import KINDS, json_schema
from service.models.model_file import ModelFile, ModelKind, read_model_file, write_atomically
from service.models.registry import learner_of
from service.partition.parts.decisions import DECISIONS
from service.redaction import one_line
from service.settings.declaration import Decides
from service.settings.fields import DECLARED, names_that_decide, setting_values
from service.settings.load import Loaded, option_settings

_PARTS: Final = ("support", "survivors")
_APART: Final = frozenset({"weights", "bias", "decisions"})


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@format_option("Output format; json has every weight in full precision.")
def inspect_command(file: Path, *, output: str) -> None:
    """Show the model in FILE: its class and parameters, its counts, its largest weights, its settings.

    A positive weight favours the positive class, a negative weight the other; the sign of the bias plus
    the sum of weight times value decides. A model of several classes has a bias and weights for each
    class, and the largest sum decides. The norm is the Euclidean length of the weights, without the
    bias. Mistakes are examples that the model misclassified when it learned them; those in `status` were
    mispredicted before. `perceptron checkpoint export` and `perceptron replay --save` write FILE.
    """
    model_file = read_model_file(file)
    shown = _described(model_file.model)
    if model_file.settings is not None:
        shown["settings"] = {name: each for name, each in model_file.settings.items() if name != DECISIONS}
    if (part := decisions_in(model_file)) and model_file.settings:
        name_of = Vocabulary(model_file.settings["classes"]).name
        shown["decisions"] = [
            {
                "name": rule.name,
                "class": name_of(rule.truth),
                "goal": kept.get("goal_text"),
                "threshold": rule.shown,
            }
            for rule, kept in zip(part.rules, model_file.settings[DECISIONS], strict=True)
        ]
    echo_result(output, shown, lambda: _as_text(model_file, shown))


def _described(model: Any) -> dict[str, Any]:  # noqa: ANN401 - any of perceptron_core's models
    kind = ModelKind.of(model)
    described = {
        "class": kind.name,
        "parameters": kind.parameters,
        "n_mistakes": model.n_mistakes,
        "n_updates": model.n_updates,
    }
    if hasattr(model, "bias"):
        described["bias"] = _plain(model.bias)
    if (known := learner_of(model).weights()) is not None:
        described |= {"norm": math.hypot(*known[0].values()), "weights": _plain(model.weights)}
    # Models without a single weight vector decide by examples (kernel) or several weight vectors (voted).
    return described | {name: len(getattr(model, name)) for name in _PARTS if hasattr(model, name)}


def _plain(value: Any) -> Any:  # noqa: ANN401 - a number, or a table of such
    """Return the value with strings as keys, as JSON requires."""
    return {str(name): _plain(each) for name, each in value.items()} if isinstance(value, Mapping) else value


def _as_text(model_file: ModelFile, shown: Mapping[str, Any]) -> str:
    settings = shown.get("settings", {})
    summary = {
        **{name.removeprefix("n_"): each for name, each in shown.items() if name not in _APART},
        "parameters": _assigned(shown["parameters"]),
        "settings": one_line(_assigned(settings)) or None,
    }
    rows = [
        [ABSENT if cell is None else one_line(str(cell)) for cell in each.values()]
        for each in shown.get("decisions", ())
    ]
    decisions = ["", table([["decision", "class", "goal", "threshold"], *rows], left=3)] if rows else []
    weights = largest_weights(learner_of(model_file.model), settings.get("classes", ()))
    return "\n".join([*facts(summary, *summary), *decisions, *weights])


def _assigned(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


_FORMATS: Final = "json", "sklearn", "onnx"


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--format", "form", type=click.Choice(_FORMATS), required=True, help="Output format.")
@output_option("--output", required=True, help="File to write.")
@setting_options("classes", *names_that_decide(Decides.TEXT), "hash_bits")
def export_command(model: Path, form: str, output: Path, loaded: Loaded) -> None:
    """Write the linear model in the model file MODEL as JSON, for scikit-learn or for ONNX.

    The scores of an export equal the model's scores; a model that the format cannot express is rejected.
    `perceptron train --save`, `replay --save` and `checkpoint export` write MODEL, which contains its classes
    and the settings of its features.
    """
    check_outputs(click.get_current_context(), model)
    file, loaded = load_model_file(model, loaded)
    exports = import_module("service.lab.export")
    content = exports.EXPORTS[form](exports.linear_model(file.model, loaded.settings))
    write_atomically(output, content)
    report("exported", "green", f"{model} to {output}, {size_text(len(content))}")


@click.command()
@click.argument("message", type=click.Choice(list(KINDS)))
def schema_command(message: str) -> None:
    """Print the JSON Schema of a message."""
    echo(json.dumps(json_schema(message), indent=2, ensure_ascii=False))


@click.group()
def config_command() -> None:
    """Show the settings."""


@config_command.command(cls=SettingsCommand)
@setting_options(*option_settings())
@format_option()
def show(loaded: Loaded, output: str) -> None:
    """Show the value and the source of each setting; passwords are masked.

    The command line wins over the environment (PERCEPTRON_..., with __ for the dot), then .env,
    then the --config file, then the default.
    """
    rows = {
        name: (_masked(name, value), loaded.origins[name])
        for name, value in setting_values(loaded.settings).items()
    }
    shown = {name: {"value": value, "source": origin} for name, (value, origin) in rows.items()}
    lines = [(name, json.dumps(value, ensure_ascii=False), origin) for name, (value, origin) in rows.items()]
    echo_result(output, shown, lambda: table(lines, left=3))


def _masked(name: str, value: object) -> object:
    """Make a value printable; a password becomes a fixed number of stars."""
    if name in DECLARED and (shown := DECLARED[name].shown):
        return shown(value)
    if isinstance(value, SecretStr):
        return str(value)
    if value is None:
        return "auto"
    return list(value) if isinstance(value, tuple) else value
