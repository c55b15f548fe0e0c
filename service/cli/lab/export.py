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
from service.settings.load import Loaded
from service.settings.names import FEATURE_SETTINGS

_MODULES: Final = {
    "json": "as_json",
    "c": "as_c",
    "js": "as_javascript",
    "sklearn": "as_sklearn",
    "onnx": "as_onnx",
    "vw": "as_vw",
    "mlflow": "as_mlflow",
}


@click.command()
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--format", "form", type=click.Choice(list(_MODULES)), required=True, help="Form of the output."
)
@click.option(
    "--output",
    type=OutputPath(),
    metavar="FILE",
    required=True,
    help="Where to write it; of mlflow, a folder.",
)
@setting_options("classes", *FEATURE_SETTINGS, "hash_bits")
def command(model: Path, form: str, output: Path, loaded: Loaded) -> None:
    """Write the model file MODEL as JSON, C, JavaScript, or for scikit-learn, ONNX, Vowpal Wabbit or MLflow.

    All but mlflow take linear models; what a format cannot say is refused. The scores of an export are those
    of the model: json, c and js cut and hash texts, too, sklearn cuts them. MODEL is what `perceptron train
    --save`, `replay --save` or `checkpoint export` wrote; it knows its classes and how features were made.
    """
    check_outputs(click.get_current_context(), model)
    file, loaded = load_model_file(model, loaded, makes_model=False)
    refuse_other_classes(model, file.model, loaded.settings.classes)
    module = import_module(f"service.lab.export.{_MODULES[form]}")
    if form == "mlflow":
        module.export(model, loaded.settings, output)
        report("exported", "green", f"{model} to the folder {output}")
        return
    linear = import_module("service.lab.export.linear").linear_model(file.model, loaded.settings)
    content = module.export(linear)
    write_atomically(output, content)
    report("exported", "green", f"{model} to {output}, {size_text(len(content))}")
