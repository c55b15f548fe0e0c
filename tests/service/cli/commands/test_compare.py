"""`compare` counts for each model what `replay` counts, ranks the models, and rejects what it cannot use."""

import json
from pathlib import Path

import pytest

from service.cli.summary import ABSENT, RANKING
from tests.support.reference_streams import phishing_events

DEFAULT_MODELS = {"perceptron", "arow", "normalized-adagrad", "auto"}
FOREST = f"{Path(__file__).parents[4] / 'examples' / 'forest_for_the_service.py'}:build"
FIGURES = ("events", "labelled", "mistakes", "updates", "error_rate", "rejected", "confusion", "auc", "cost")
COSTS = ("--costs-false-positive", "1", "--costs-false-negative", "20")


def ndjson(events):
    return b"".join(event + b"\n" for event in events)


PAGES = ndjson(phishing_events())


def late(events):
    """Return events whose labels follow two events later, some of them twice, with junk among them."""
    lines, waiting = [], []
    for number, event in enumerate(map(json.loads, events)):
        label = {"id": event["id"], "label": event.pop("label")}
        lines.append(event)
        waiting += [label] * (2 if number % 7 == 0 else 1)
        if number % 3 == 2:
            lines += waiting
            waiting = []
    return b"junk\n" + ndjson(json.dumps(line).encode() for line in lines)


@pytest.fixture
def compared(perceptron):
    """Compare models over lines; give the summaries of `--format json` by model, in their order."""

    def run(stdin, *arguments, code=0):
        result = perceptron("compare", "-", "--format", "json", *arguments, stdin=stdin)
        assert result.exit_code == code, result.stderr
        return {each["model"]: each for each in json.loads(result.stdout)["models"]}

    return run


@pytest.mark.parametrize("lines", [PAGES, late(phishing_events())], ids=["labels with events", "late labels"])
def test_each_model_has_the_results_of_its_replay(perceptron, compared, lines):
    models = [*DEFAULT_MODELS, FOREST]
    found = compared(lines, *COSTS, *(word for model in models for word in ("--model", model)))
    for model in models:
        alone = json.loads(
            perceptron("replay", "-", "--format", "json", *COSTS, "--model", model, stdin=lines).stdout
        )
        assert {name: found[model][name] for name in FIGURES} == {name: alone[name] for name in FIGURES}


def test_table_names_each_model_with_its_mistakes(perceptron, compared):
    rows = perceptron("compare", "-", stdin=PAGES).stdout.splitlines()
    assert rows[0].split("  ")[-1] == "seconds"
    assert [row.split()[:2] for row in rows[1:-2]] == [
        [name, str(each["mistakes"])] for name, each in compared(PAGES).items()
    ]


def test_model_named_twice_runs_once(compared):
    assert list(compared(PAGES, "--model", "arow", "--model", "arow")) == ["arow"]


def test_model_is_named_with_its_parameters(compared):
    found = compared(PAGES, "--model", "arow,r=0.1", "--model", "arow", "--model", "arow,r=10,full=true")
    assert found.keys() == {"arow,r=0.1", "arow", "arow,r=10,full=true"}
    assert len({each["auc"] for each in found.values()}) == 3


def test_models_without_text_warn_and_come_last(perceptron):
    texts = "".join(f'{{"id": "{n}", "text": "word {n % 3}", "label": {n % 2}}}\n' for n in range(20))
    result = perceptron("compare", "-", "--model", "nearest-neighbors", "--model", "auto", stdin=texts)
    assert [row.split()[0] for row in result.stdout.splitlines()[1:3]] == ["auto", "nearest-neighbors"]
    assert result.stdout.splitlines()[2].split()[-2] == "20"
    assert "model_error" in result.stderr


def test_wrong_parameter_is_rejected_with_the_known_names(perceptron):
    result = perceptron("compare", "none.csv", "--model", "arow,R=1")
    assert result.exit_code == 2
    assert "the keys r, forgetting" in result.stderr


def test_fewest_mistakes_come_first(compared):
    mistakes = [each["mistakes"] for each in compared(PAGES).values()]
    assert mistakes == sorted(mistakes)


def test_baselines_are_listed_below_the_models(perceptron, compared):
    rows = perceptron("compare", "-", stdin=PAGES).stdout.splitlines()[-2:]
    baselines = next(iter(compared(PAGES).values()))["baselines"]
    for row, name in zip(rows, ("majority_class", "last_label"), strict=True):
        assert row.split(")")[1].split()[:4] == [
            f"{baselines[name]['mistakes']}",
            f"{baselines[name]['error_rate']:.4f}",
            *(f"{baselines[name][each]:.4f}" if name == "majority_class" else ABSENT for each in RANKING),
        ]


def test_several_classes_are_compared_with_multiclass_models(compared):
    events = [json.loads(event) for event in phishing_events()[:60]]
    for number, event in enumerate(events):
        event["label"] = "abc"[number % 3]
    found = compared(ndjson(json.dumps(event).encode() for event in events), "--classes", "a,b,c")
    assert found.keys() == DEFAULT_MODELS
    assert all(set(each["confusion"]) == {"a", "b", "c"} for each in found.values())


def test_rejected_record_is_named_once_and_counted_per_model(perceptron):
    result = perceptron("compare", "-", "--model", "arow", "--model", "scw", stdin=b"junk\n" + PAGES)
    assert result.stderr.count("stdin:1: invalid_json: ") == 1
    assert [row.split()[-2] for row in result.stdout.splitlines()[1:3]] == ["1", "1"]


def test_model_that_rejects_events_comes_last(compared):
    Path("raising.py").write_text(
        "class Model:\n"
        "    def predict_proba_one(self, x):\n        raise ValueError('not today')\n"
        "    def learn_one(self, x, y):\n        pass\n"
    )
    found = compared(PAGES, "--model", "raising.py:Model", "--model", "perceptron", code=1)
    assert list(found) == ["perceptron", "raising.py:Model"]
    assert found["raising.py:Model"]["rejected_by_reason"] == {"model_error": 1250}
