"""What `examples/` promises, it does."""

import json
import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner
from river import datasets

from service.cli.app import cli
from service.partition.factory import make_processor
from service.settings.load import Settings
from service.stream.protocol import Record
from tests.support.reference_streams import without_time

EXAMPLES = Path(__file__).parents[1] / "examples"


def printed(name, capsys):
    """Run an example; return the number at the end of each line it prints, by the text before it."""
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    rows = (line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    return {title.removesuffix("Accuracy:").strip(): float(number.rstrip("%")) for title, number in rows}


def test_every_learner_is_accurate_at_the_end_of_a_pipeline(capsys):
    accuracies = printed("phishing_pipeline.py", capsys)
    assert len(accuracies) == 4
    assert min(accuracies.values()) > 84


@pytest.mark.slow
def test_every_multiclass_example_is_accurate(capsys):
    accuracies = printed("image_segments.py", capsys)
    assert len(accuracies) == 3
    assert min(accuracies.values()) > 75


def test_decaying_average_adapts_unlike_a_running_average(capsys):
    mistakes = printed("drifting_stream.py", capsys)
    assert mistakes["decaying average"] < mistakes["running average"] / 2


def test_river_forest_runs_in_the_service(tmp_path):
    events = [
        {"id": str(n), "features": x, "label": y} for n, (x, y) in enumerate(datasets.Phishing().take(200))
    ]
    file = tmp_path / "phishing.ndjson"
    file.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    factory = EXAMPLES / "forest_for_the_service.py"
    found = CliRunner().invoke(cli, ["replay", str(file), "--model", f"{factory}:build", "--format", "json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["events"] == 200


def serve(folder, factory, events, topic):
    """Process the events with `serve`, in two runs; return the predictions."""
    settings = ("--broker", f"sqlite:///{folder}/{topic}.db", "--http", "")
    for start in (0, len(events) // 2):
        part = "\n".join(map(json.dumps, events[start : start + len(events) // 2]))
        for arguments in (
            ["produce", "-", *settings[:2]],
            ["serve", *settings, "--model", factory, "--exit-at-end"],
        ):
            found = CliRunner().invoke(cli, arguments, input=part)
            assert found.exit_code == 0, found.output
    consumed = CliRunner().invoke(cli, ["consume", "predictions", *settings[:2], "--exit-at-end"])
    return [without_time(json.loads(line)["value"]) for line in consumed.stdout.splitlines()]


@pytest.mark.parametrize("name", ["spam_pipeline.py", "forest_for_the_service.py"])
def test_river_model_resumes_identically_after_a_restart(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PERCEPTRON_CHECKPOINT_KEY", "a long random secret")
    events = [
        {"id": str(n), "features": x, "text": "win a prize" if y else "see you", "label": y}
        for n, (x, y) in enumerate(datasets.Phishing().take(200))
    ]
    predictions = serve(tmp_path, f"{EXAMPLES / name}:build", events, "served")
    processor = make_processor(Settings(model=f"{EXAMPLES / name}:build"))
    records = [Record("events", 0, n, 0, None, json.dumps(each).encode()) for n, each in enumerate(events)]
    outputs = processor.process_batch(records).outputs
    alone = [without_time(json.loads(output.value)) for output in outputs]
    assert predictions == alone
    assert sum(each["mistake"] for each in predictions) < len(events) / 4


@pytest.mark.slow
def test_notebook_runs_from_csv_file_to_explanation():
    notebook = json.loads((EXAMPLES / "from_csv_to_predictions.ipynb").read_text(encoding="utf-8"))
    found = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), found)
    assert (found["predictions"]["predicted"] == found["predictions"]["label"]).mean() > 0.9
    assert found["explanation"]["contributions"]
