"""Settings, headers and files of many names cost time linear in their size."""

import pytest

from perceptron_core import AutoClassifier, from_bytes, to_bytes
from service.errors import ConfigurationError
from service.files.sources import open_source
from service.partition.factory import make_decoder
from service.settings.load import load_settings
from tests.service.building import settings
from tests.support.growth import assert_grows_linearly


def names(count):
    return [f"f{n}" for n in range(count)]


def test_settings_of_many_names_are_checked_in_linear_time():
    def check(classes):
        settings(model="auto", classes=classes)

    assert_grows_linearly(check, names, 10_000)


def test_a_decoder_of_many_features_is_made_in_linear_time():
    assert_grows_linearly(lambda found: make_decoder(settings(events={"features": found})), names, 5000)


def test_a_header_of_many_columns_is_read_in_linear_time(tmp_path):
    def make(count):
        path = tmp_path / f"{count}.csv"
        path.write_text(
            f"{','.join(names(count))}\n{','.join('1' for _ in range(count))}\n", encoding="utf-8"
        )
        return str(path)

    def read(path):
        with open_source(path) as source:
            assert len(list(source)) == 1

    assert_grows_linearly(read, make, 25_000)


def test_a_model_of_many_classes_is_read_in_linear_time():
    assert_grows_linearly(from_bytes, lambda count: to_bytes(AutoClassifier(classes=names(count))), 500)


def test_more_derived_features_than_anybody_has_are_refused():
    assert len(settings(events={"derive": dict.fromkeys(names(256), "a + 1")}).events.derive) == 256
    with pytest.raises(ConfigurationError, match=r"events\.derive .* at most 256"):
        load_settings({"events.derive": dict.fromkeys(names(257), "a + 1")})
