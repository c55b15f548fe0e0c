"""`plot` writes pictures of what the library computes, and says what it lacks."""

import json
import sys
from pathlib import Path

import pytest

from tests.support.reference_streams import phishing_events

PNG, SVG = b"\x89PNG", b"<?xml"


@pytest.fixture
def plane(tmp_path):
    """Write a file of two features that a line separates."""
    path = tmp_path / "plane.csv"
    lines = [f"{a},{b},{int(a + b > 4)}" for a in range(4) for b in range(4) if a + b != 4]
    path.write_text("\n".join(["a,b,label", *lines]))
    return path


def test_every_plot_is_written_as_png_or_svg(perceptron, plane):
    for kind in ("boundary", "learning-curve"):
        assert perceptron("plot", kind, plane).exit_code == 0
        assert Path(f"{kind}.png").read_bytes().startswith(PNG)
        result = perceptron("plot", kind, plane, "--output", "picture.svg")
        assert result.exit_code == 0, result.stderr
        assert Path("picture.svg").read_bytes().startswith(SVG)
        assert "picture.svg" in result.stderr
        assert result.stdout == ""


def test_boundary_needs_two_features(perceptron, pages):
    result = perceptron("plot", "boundary", pages)
    assert result.exit_code == 1
    assert "--events-features" in result.stderr
    two = ("--events-features", "features.popup_window,features.ip_in_url")
    result = perceptron("plot", "boundary", pages, *two, "--events-label", "label", "--epochs", 1)
    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("weights", "model.bin"), 2, "`inspect` shows the largest weights"),
        (("learning-curve", "missing.csv", "-o", "picture.gif"), 2, ".png, .svg"),
        (("roc", "-", "--classes", "a,b,c", "--model", "arow"), 1, "expected labels of two classes"),
    ],
)
def test_unknown_plot_or_format_is_rejected(perceptron, arguments, code, said):
    lines = b'{"id":"a","text":"x","label":"a"}\n{"id":"b","text":"x","label":"c"}\n'
    result = perceptron("plot", *arguments, stdin=lines)
    assert (result.exit_code, said in result.stderr) == (code, True)


def test_missing_matplotlib_is_an_error_with_the_extra(perceptron, plane, monkeypatch):
    monkeypatch.delitem(sys.modules, "service.lab.charts", raising=False)
    monkeypatch.delattr("service.lab.charts", raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = perceptron("plot", "learning-curve", plane)
    assert result.exit_code == 1
    assert "hint: pip install 'online-perceptron[plot]'" in result.stderr


def test_calibration_equals_replay(perceptron, pages):
    model = ("--model", "coin-betting")
    summary = json.loads(perceptron("replay", pages, *model, "--format", "json").stdout)
    result = perceptron("plot", "calibration", pages, *model, "-o", "calibration.svg")
    assert result.exit_code == 0, result.stderr
    picture = Path("calibration.svg").read_text(encoding="utf-8")
    assert f"expected calibration error {summary['expected_calibration_error']:.4f}" in picture
    assert f"log loss {summary['log_loss']:.4g}" in picture


def test_calibration_without_log_odds_suggests_another_model(perceptron, pages):
    result = perceptron("plot", "calibration", pages, "--model", "arow")
    assert result.exit_code == 2
    assert "arow has no probabilities, as its scores are not log-odds" in result.stderr
    assert "hint: --model auto has probabilities" in result.stderr


@pytest.mark.parametrize("kind", ["roc", "pr"])
def test_roc_and_precision_recall_are_drawn(perceptron, kind):
    lines = b"".join(event + b"\n" for event in phishing_events())
    result = perceptron("plot", kind, "-", "--model", "arow,r=0.1", "-o", "scores.svg", stdin=lines)
    assert result.exit_code == 0, result.stderr
    assert "arow,r=0.1" in Path("scores.svg").read_text()
