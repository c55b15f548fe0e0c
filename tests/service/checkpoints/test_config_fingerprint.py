"""What a snapshot names of the settings, and which of them may change."""

import pytest

from perceptron_core.elementary import ARITHMETIC
from service.checkpoints.config_fingerprint import check_config_fingerprint
from service.checkpoints.snapshot import Snapshot
from service.errors import CheckpointError
from service.settings.fields import fingerprint
from tests.service.building import settings


def snapshot(**given):
    return Snapshot(1, {}, fingerprint(settings(**given)), {"arithmetic": ARITHMETIC}, {})


def test_fingerprint_without_mapping_names_none():
    assert not [name for name in fingerprint(settings()) if "." in name]


@pytest.mark.parametrize(
    ("made", "given"),
    [
        ({}, {"features": "*"}),
        ({"features": "*"}, {}),
        ({"text": "a"}, {"text": "a,b"}),
        ({"features": "*", "exclude": "a"}, {"features": "*", "exclude": "b"}),
        ({"vectors": "a"}, {"vectors": "a", "missing": [0]}),
        ({"text_format": "html"}, {"text": "text"}),
        ({"derive": {"a": "x", "b": "y"}}, {"derive": {"b": "y", "a": "x"}}),
        ({}, {"windows": [{"by": "card", "over": "1h", "of": {"@event": "count"}}]}),
    ],
)
def test_changed_feature_settings_reject_the_checkpoint(made, given):
    with pytest.raises(CheckpointError) as rejected:
        check_config_fingerprint(snapshot(events=made), settings(events=given), n_batches=0)
    assert "drop the model" in rejected.value.hint


@pytest.mark.parametrize(
    ("table", "made", "given"),
    [
        ("events", {}, {"id": "@key"}),
        ("events", {"label": "a"}, {"label": "b"}),
        ("events", {"where": "a"}, {}),
        ("labels", {"label": "a"}, {"label": "a", "where": "b"}),
        ("labels", {"timestamp": "at"}, {}),
        ("labels", {}, {"unknown_fields": "ignore"}),
    ],
)
def test_other_fields_may_change_once_a_snapshot_has_everything(table, made, given):
    old, new = snapshot(**{table: made}), settings(**{table: given})
    check_config_fingerprint(old, new, n_batches=0)
    with pytest.raises(CheckpointError) as rejected:
        check_config_fingerprint(old, new, n_batches=1)
    assert "run `serve --exit-at-end` once" in rejected.value.hint


def test_checkpoint_with_equal_mapping_is_accepted():
    windows = [{"by": "card", "over": ["1h"], "of": {"amount": ["sum"]}}]
    mapping = {"id": "@key", "features": ["*"], "label": "a == 'b'", "windows": windows}
    check_config_fingerprint(snapshot(events=mapping), settings(events=mapping), n_batches=1)
