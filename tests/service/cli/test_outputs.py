"""What a command writes at its end is checked before the run."""

import os
from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

ROWS = "a,y\n1,1\n2,0\n"
WRITING = {
    "train": ("train", "x.png", "--save"),
    "replay": ("replay", "x.png", "--save"),
    "boundary": ("plot", "boundary", "x.png", "-o"),
    "calibration": ("plot", "calibration", "x.png", "--model", "auto", "-o"),
    "learning-curve": ("plot", "learning-curve", "x.png", "-o"),
}


@pytest.fixture(autouse=True)
def rows(tmp_path):
    path = tmp_path / "x.png"  # of a name that a picture may have
    path.write_text(ROWS)
    return path


@pytest.mark.parametrize("name", WRITING)
def test_no_command_overwrites_its_input(perceptron, rows, name):
    *command, option = WRITING[name]
    result = perceptron(*command, "--input-format", "csv", option, "x.png")
    assert (result.exit_code, rows.read_text()) == (1, ROWS)
    assert "x.png: is an input of this command" in result.stderr


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_input_is_not_overwritten_by_another_name(perceptron, rows, link):
    link(rows, rows.with_name("y.bin"))
    result = perceptron("train", "x.png", "--input-format", "csv", "--save", "y.bin")
    assert (result.exit_code, rows.read_text()) == (1, ROWS)


def test_database_is_not_overwritten(perceptron):
    with closing(connect("stream.db")) as database:
        database.execute("CREATE TABLE records (value)")
    content = Path("stream.db").read_bytes()
    result = perceptron("train", "x.png", "--input-format", "csv", "--save", "stream.db")
    assert (result.exit_code, Path("stream.db").read_bytes()) == (1, content)


def test_two_outputs_are_different_files(perceptron):
    result = perceptron("replay", "x.png", "--input-format", "csv", "--save", "o", "--predictions", "./o")
    assert "o: is another output of this command" in result.stderr
    assert not Path("o").exists()


def test_file_of_settings_is_not_overwritten(perceptron):
    Path("my.toml").write_text("hash_bits = 10\n")
    result = perceptron(
        "replay", "x.png", "--input-format", "csv", "--config", "my.toml", "--save", "my.toml"
    )
    assert (result.exit_code, Path("my.toml").read_text()) == (1, "hash_bits = 10\n")


@pytest.mark.parametrize("name", WRITING)
def test_missing_folder_is_an_error_before_the_run(perceptron, name):
    *command, option = WRITING[name]
    result = perceptron(*command, "--input-format", "csv", option, "nowhere/y.png")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: nowhere/y.png: cannot be written: folder")


def test_output_to_another_file_is_written(perceptron):
    result = perceptron("train", "x.png", "--input-format", "csv", "--save", "model.bin")
    assert (result.exit_code, Path("model.bin").exists()) == (0, True)
