"""`inspect` shows a model file, and `replay --save` writes one."""

import json

import pytest

from perceptron_core import MulticlassPerceptron, Perceptron, from_bytes, to_bytes
from service.models.registry import BUILT_IN
from tests.support.reference_streams import run_bare, sms_events


@pytest.fixture
def model():
    model = Perceptron(learning_rate=0.1)
    model.learn_one({"free": 3.0, "win": 1.0}, True)
    model.learn_one({"free": 6.0, "ham\x1b[2J": 1.0}, False)
    return model


@pytest.fixture
def path(tmp_path, model):
    path = tmp_path / "model.bin"
    path.write_bytes(to_bytes(model))
    return path


def test_json_has_every_weight_with_every_digit(perceptron, path, model):
    shown = json.loads(perceptron("inspect", path, "--format", "json").stdout)
    assert shown["weights"] == model.weights
    assert shown["bias"] == model.bias
    assert (shown["class"], shown["n_mistakes"], shown["n_updates"]) == ("Perceptron", 2, 2)
    assert shown["parameters"]["learning_rate"] == 0.1
    assert shown["norm"] == pytest.approx(sum(w * w for w in model.weights.values()) ** 0.5)


def test_text_shows_the_largest_weights_first(perceptron, path):
    result = perceptron("inspect", path, "--top", "2")
    assert result.exit_code == 0
    *_, title, first, second = result.stdout.splitlines()
    assert title == "largest 2 of 3 weights"
    assert [first.split()[0], second.split()[0]] == ["free", "ham\\x1b[2J"]
    assert "\x1b" not in result.stdout
    assert "learning_rate=0.1" in result.stdout


def test_a_model_of_several_classes_shows_the_weights_of_each(perceptron, path):
    model = MulticlassPerceptron()
    for word, label in (("free", "spam"), ("lunch", "ham"), ("free", "spam")):
        model.learn_one({word: 1.0}, label)
    path.write_bytes(to_bytes(model))
    shown = json.loads(perceptron("inspect", path, "--format", "json").stdout)
    assert shown["weights"] == model.weights
    assert shown["bias"] == model.bias
    assert "  spam: " in perceptron("inspect", path).stdout


@pytest.mark.parametrize(
    ("content", "why"), [(None, "No such file"), (b"junk", "this is no perceptron-model")]
)
def test_what_is_no_model_file_is_an_error(perceptron, tmp_path, content, why):
    if content is not None:
        (tmp_path / "m").write_bytes(content)
    result = perceptron("inspect", "m")
    assert (result.exit_code, result.stdout) == (1, "")
    assert why in result.stderr
    assert "hint: `perceptron checkpoint export`" in result.stderr


def test_replay_saves_the_model_it_ends_with(perceptron, tmp_path):
    events = sms_events()[:500]
    result = perceptron("replay", "-", "--save", "m.bin", stdin=b"\n".join(events))
    assert result.exit_code == 0, result.stderr
    assert "saved: the model to m.bin" in result.stderr
    saved = from_bytes((tmp_path / "m.bin").read_bytes())
    assert to_bytes(saved) == to_bytes(run_bare(events).model)


def test_replay_refuses_to_save_a_pickle_before_it_begins(perceptron, tmp_path):
    arguments = ("--save", "m.bin", "--model", "river.linear_model:LogisticRegression")
    result = perceptron("replay", "-", *arguments, stdin='{"id":"a","text":"x","label":true}\n')
    assert (result.exit_code, result.stdout) == (2, "")
    assert "pickle" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_model_of_every_built_in_kind_can_be_looked_at(perceptron, tmp_path):
    for name, cls in BUILT_IN.items():
        model = cls()
        for y in (True, False, True):
            model.learn_one({"a": 1.0}, y)
        file = tmp_path / f"{name}.bin"
        file.write_bytes(to_bytes(model))
        text, as_json = perceptron("inspect", file), perceptron("inspect", file, "--format", "json")
        assert (text.exit_code, as_json.exit_code) == (0, 0), name
        assert json.loads(as_json.stdout)["n_updates"] == model.n_updates
        assert f"updates     {model.n_updates}" in text.stdout
