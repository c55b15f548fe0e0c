"""Surroundings for code that the documents show."""

import os

import pytest


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """Work in an empty folder, without settings from outside; servers take a free port."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("PERCEPTRON_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PERCEPTRON_HTTP", "127.0.0.1:0")
    return tmp_path
