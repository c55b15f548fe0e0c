"""`tune` searches what a model declares, repeats itself, and ends with a command that gives its figures."""

import json
import shlex
from pathlib import Path

import pytest

from tests.support.reference_streams import phishing_events


@pytest.fixture(autouse=True)
def pages(tmp_path):
    path = tmp_path / "pages.ndjson"
    path.write_bytes(b"".join(event + b"\n" for event in phishing_events()[:300]))
    return path


@pytest.fixture
def tune(perceptron):
    def run(*arguments):
        result = perceptron("tune", "pages.ndjson", "--trials", "10", "--format", "json", *arguments)
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return run


def test_the_command_it_ends_with_makes_the_mistakes_of_the_best_trial(perceptron, tune):
    found = tune("--model", "arow", "--max-message-bytes=9999")
    program, *arguments = shlex.split(found["command"])
    summary = json.loads(perceptron(*arguments, "--format", "json").stdout)
    assert program == "perceptron"
    assert "--max-message-bytes=9999" in arguments
    assert summary["mistakes"] == found["models"][0]["mistakes"]
    assert summary["mistakes"] == min(each["mistakes"] for each in found["models"])


def test_one_trial_has_the_defaults(tune):
    models = tune("--model", "scw")["models"]
    assert len(models) == 10
    assert [each["model_params"] for each in models].count({}) == 1


def test_a_seed_repeats_the_search_and_another_does_not(tune):
    first, again, other = (
        [each["model_params"] for each in tune("--model", "arow", "--sort", "auc", "--seed", seed)["models"]]
        for seed in ("1", "1", "2")
    )
    assert first == again != other


def test_a_parameter_that_is_given_is_not_searched(tune):
    found = tune("--model", "arow", "--model-param", "r=7", "--sort", "average-precision")
    assert {each["model_params"]["r"] for each in found["models"]} == {7}
    assert "--model-param r=7" in found["command"]


def test_several_classes_are_searched_by_the_model_of_several(perceptron):
    lines = [json.dumps({"id": str(n), "text": f"w{n % 3}", "label": "abc"[n % 3]}) for n in range(60)]
    Path("abc.ndjson").write_text("\n".join(lines))
    result = perceptron("tune", "abc.ndjson", "--classes", "a,b,c", "--model", "arow", "--trials", "2")
    assert result.exit_code == 0, result.stderr
    assert "arow,r=" in result.stdout


def test_people_get_a_table_a_command_and_a_warning(perceptron):
    result = perceptron("tune", "pages.ndjson", "--model", "arow", "--trials", "10")
    lines = result.stdout.splitlines()
    assert lines[0].split()[:3] == ["model", "mistakes", "error"]
    assert any(line.split()[:1] == ["arow"] for line in lines)
    assert lines[-1].startswith("perceptron replay pages.ndjson --model arow")
    assert "10 of 10 trials; best so far arow" in result.stderr
    assert "the best of 10 trials on one stream" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("pages.ndjson",), "perceptron has no parameter to be searched"),
        (
            ("pages.ndjson", "--model", "logistic-regression", "--model-param", "learning_rate=1"),
            "no parameter",
        ),
        (("pages.ndjson", "--model", "nix"), "'nix' is no built-in model"),
        (("-", "--model", "arow"), "it cannot be stdin"),
        (("pages.ndjson", "--model", "arow", "--trials", "1"), "--trials"),
        (("none.csv", "--model", "arow"), "none.csv"),
    ],
)
def test_what_cannot_be_searched_is_refused(perceptron, arguments, complaint):
    result = perceptron("tune", *arguments)
    assert (result.exit_code > 0, complaint in result.stderr) == (True, True), result.stderr
