"""What `examples/` promises, it does."""

import json
import runpy
from pathlib import Path

import pytest
from click.testing import CliRunner
from river import datasets

from service.cli.app import cli

EXAMPLES = Path(__file__).parents[1] / "examples"


def printed(name, capsys):
    """Run an example; give the number at the end of each line it prints, by what stands before it."""
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    rows = (line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    return {title.removesuffix("Accuracy:").strip(): float(number.rstrip("%")) for title, number in rows}


def test_every_learner_does_well_at_the_end_of_a_pipeline(capsys):
    accuracies = printed("phishing_pipeline.py", capsys)
    assert len(accuracies) == 4
    assert min(accuracies.values()) > 84


@pytest.mark.slow
def test_several_classes_are_learned_in_both_ways(capsys):
    accuracies = printed("image_segments.py", capsys)
    assert len(accuracies) == 3
    assert min(accuracies.values()) > 75


def test_a_decaying_average_adapts_where_a_running_one_does_not(capsys):
    mistakes = printed("drifting_stream.py", capsys)
    assert mistakes["decaying average"] < mistakes["running average"] / 2


def test_a_river_forest_runs_in_the_service(tmp_path):
    events = [
        {"id": str(n), "features": x, "label": y} for n, (x, y) in enumerate(datasets.Phishing().take(200))
    ]
    file = tmp_path / "phishing.ndjson"
    file.write_text("\n".join(map(json.dumps, events)), encoding="utf-8")
    factory = EXAMPLES / "forest_for_the_service.py"
    found = CliRunner().invoke(cli, ["replay", str(file), "--model", f"{factory}:build", "--format", "json"])
    assert found.exit_code == 0, found.output
    assert json.loads(found.stdout)["events"] == 200
