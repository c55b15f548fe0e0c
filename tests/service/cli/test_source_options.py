"""The options of files: the same rows give the same model, however they are written."""

import json

import pytest

from perceptron_core import from_bytes

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TEXTS = [("ham", "see you at noon"), ("spam", "win a prize; now"), ("spam", 'a "prize"')] * 12


@pytest.fixture
def native(tmp_path):
    path = tmp_path / "texts.tsv"
    path.write_text("".join(f"{label}\t{text}\n" for label, text in TEXTS))
    return path


@pytest.fixture
def model(perceptron, tmp_path):
    """Replay a file; return the mistakes and the weights."""

    def run(file, *options):
        saved = tmp_path / "model.bin"
        given = ("--classes", "ham,spam", *options, "--save", saved, "--format", "json")
        result = perceptron("replay", file, *given)
        assert result.exit_code == 0, result.stderr
        learned = from_bytes(saved.read_bytes())
        return json.loads(result.stdout)["mistakes"], learned.weights, learned.bias

    return run


def test_parquet_file_gives_the_model_of_the_same_rows(native, model, tmp_path):
    path = tmp_path / "texts.parquet"
    parquet.write_table(pa.Table.from_pylist([{"label": label, "text": text} for label, text in TEXTS]), path)
    assert model(path) == model(native)


def test_mapped_csv_file_gives_the_same_model(native, model, tmp_path):
    path = tmp_path / "texts.csv"
    rows = "".join(
        f"{n}|{text}|{'yes' if label == 'spam' else 'no'}\n" for n, (label, text) in enumerate(TEXTS)
    )
    path.write_text(f"n|body|junk\n{rows}")
    mapping = ("--events-id", "n", "--events-text", "body", "--events-label", "junk == 'yes'")
    assert model(path, "--delimiter", "|", *mapping) == model(native)


def test_table_has_no_delimiter(perceptron, tmp_path):
    parquet.write_table(pa.table({"a": [1], "y": [1]}), tmp_path / "x.parquet")
    result = perceptron("replay", tmp_path / "x.parquet", "--delimiter", ";")
    assert (result.exit_code, "needs a CSV file, got parquet" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", ["replay", "train"])
def test_without_labels_the_hint_names_the_option_and_the_header(perceptron, tmp_path, command):
    (tmp_path / "x.csv").write_text("red,1,yes\nblue,2,no\n")
    assert "--label-column; its first line must name the columns" in perceptron(command, "x.csv").stderr


def test_unmapped_structs_give_a_hint(perceptron, tmp_path):
    parquet.write_table(pa.table({"s": [{"k": 1}], "y": [1]}), tmp_path / "x.parquet")
    assert "--events-features '*'" in perceptron("replay", tmp_path / "x.parquet").stderr


def test_column_options_and_mapped_paths_are_mutually_exclusive(perceptron):
    result = perceptron("replay", "-", "--events-id", "n", "--label-column", "kind")
    assert result.exit_code == 2
    assert "use --events-label" in result.stderr


@pytest.mark.parametrize("delimiter", ["ab", "", '"'])
def test_invalid_delimiter_is_a_usage_error(perceptron, native, delimiter):
    assert perceptron("replay", native, "--delimiter", delimiter).exit_code == 2
