"""Tests of warnings begin without earlier ones."""

import pytest

from service.mapping import feature_step


@pytest.fixture(autouse=True)
def _forgotten(monkeypatch):
    monkeypatch.setattr(feature_step, "_warned_of", set())
