"""`export` writes a model file in the form of other programs, and says what it cannot."""

import json

import pytest

ROWS = "ham\tsee you at noon\nspam\twin a big prize now\nham\tlunch at noon?\nspam\tcall now to win\n"


@pytest.fixture
def train(perceptron, tmp_path):
    """Train a model; return its file."""

    def run(*options):
        tmp_path.joinpath("rows.tsv").write_text(ROWS)
        result = perceptron("replay", "rows.tsv", "--classes", "ham,spam", "--save", "model.bin", *options)
        assert result.exit_code == 0, result.stderr
        return "model.bin"

    return run


def test_writes_the_file_with_the_settings_of_the_model(perceptron, train, tmp_path):
    result = perceptron(
        "export", train("--ngrams", "1-2", "--hash-bits", "10"), "--format", "json", "--output", "x.json"
    )
    assert result.exit_code == 0, result.stderr
    assert result.stderr.startswith("exported: model.bin to x.json, ")
    told = json.loads(tmp_path.joinpath("x.json").read_text())
    assert (told["labels"], told["features"]["ngrams"], told["features"]["hash_bits"]) == (
        ["ham", "spam"],
        [1, 2],
        10,
    )


@pytest.mark.parametrize(
    ("options", "arguments", "said"),
    [
        (["--model", "auto"], ["--format", "json"], "AutoClassifier is no linear model"),
        ([], ["--format", "sklearn", "--text", "chars"], "text: model.bin was made with 'words'"),
        (["--hash-bits", "8"], ["--format", "sklearn"], "--format sklearn: its hashing"),
        ([], ["--format", "pmml"], "'pmml' is not one of"),
        ([], ["--format", "json", "--output", "no/x.json"], "there is no folder"),
        ([], ["--format", "json", "--output", "model.bin"], "would be overwritten"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_written(perceptron, train, tmp_path, options, arguments, said):
    result = perceptron("export", train(*options), "--output", "x", *arguments)
    assert result.exit_code in {1, 2}
    assert said in result.stderr
    assert "hint: " in result.stderr
    assert not tmp_path.joinpath("x").exists()


def test_a_format_whose_package_is_missing_names_the_extra(perceptron, train, monkeypatch):
    monkeypatch.setattr("service.settings.code.find_spec", lambda _: None)
    result = perceptron("export", train(), "--format", "onnx", "--output", "x")
    assert result.exit_code == 2
    assert "pip install 'online-perceptron[onnx]'" in result.stderr
