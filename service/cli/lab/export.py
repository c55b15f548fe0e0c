"""`perceptron export`: write a model in the form of another program."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Final

import click

from service.cli.model_files import load_model_file
from service.cli.options import setting_options
from service.cli.output import report
from service.cli.outputs import OutputPath, check_outputs
from service.cli.table import size_text
from service.models.made_with import refuse_other_classes
from service.models.model_file import write_atomically
from service.settings.declaration import Decides
from service.settings.fields import names_that_decide
from service.settings.load import Loaded

_FORMATS: Final = "json", "sklearn", "onnx"


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--format", "form", type=click.Choice(_FORMATS), required=True, help="Form of the output.")
@click.option("--output", type=OutputPath(), metavar="FILE", required=True, help="Where to write it.")
@setting_options("classes", *names_that_decide(Decides.TEXT), "hash_bits")
def command(model: Path, form: str, output: Path, loaded: Loaded) -> None:
    """Write the linear model in the model file MODEL as JSON, for scikit-learn or for ONNX.

    The scores of an export are those of the model; what a format cannot express is refused. MODEL is what
    `perceptron train --save`, `replay --save` or `checkpoint export` wrote; it contains its classes and how
    features were made.
    """
    check_outputs(click.get_current_context(), model)
    file, loaded = load_model_file(model, loaded, makes_model=False)
    refuse_other_classes(model, file.model, loaded.settings.classes)
    exports = import_module("service.lab.export")
    content = exports.EXPORTS[form](exports.linear_model(file.model, loaded.settings))
    write_atomically(output, content)
    report("exported", "green", f"{model} to {output}, {size_text(len(content))}")
