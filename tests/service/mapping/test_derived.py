"""Derived features are computed of features and fields, in their order; what has no value is none."""

import pytest

from service.errors import ConfigurationError
from service.messages.rejection import Reason, Rejection
from service.partition.factory import make_decoder
from service.settings.load import load_settings
from tests.service.building import settings


def decoded(value, derive, **events):
    given = settings(events={"features": "a,b", "derive": derive, **events})
    return make_decoder(given).decode(value).features


RECORD = b'{"id": "x", "a": 6, "b": 4, "c": "7", "tags": ["u"], "no": -1}'


def test_features_are_derived_in_order():
    assert decoded(RECORD, {"r": "a / b", "s": "r * number(c)", "t": "tags"}) == {
        "a": 6.0,
        "b": 4.0,
        "r": 1.5,
        "s": 10.5,
        "t=u": 1.0,
    }


def test_derived_feature_replaces_one_of_its_name():
    assert decoded(RECORD, {"a": "a + 1", "b": "missing"}) == {"a": 7.0}


@pytest.mark.parametrize("expression", ["a / 0", "missing", "no + 1", "a * 1e100 * 1e100", "log(-a)"])
def test_expression_without_value_makes_no_feature(expression):
    assert decoded(RECORD, {"r": expression}, missing=[-1]) == {"a": 6.0, "b": 4.0}


def test_field_unfit_for_its_expression_makes_a_dead_letter():
    with pytest.raises(Rejection, match=r"r \(events.derive\): c is not a number") as rejected:
        decoded(RECORD, {"r": "c * 2"})
    assert rejected.value.reason is Reason.INVALID_TYPE


def test_source_field_of_a_derived_feature_is_known():
    record = b'{"id": "x", "a": 6, "c": {"d": 2}}'
    assert decoded(record, {"r": "a / c.d"}, unknown_fields="reject") == {"a": 6.0, "r": 3.0}


def test_wrong_expression_is_rejected_at_the_start():
    with pytest.raises(ConfigurationError, match=r"r: unknown function foo.*'foo\(a\)'"):
        load_settings({"events.derive": {"r": "foo(a) / 2"}})


def test_pairs_tables_and_json_are_equivalent():
    pairs = [["r", "a / b"]]
    for given in (pairs, {"r": "a / b"}, '{"r": "a / b"}'):
        assert load_settings({"events.derive": given}).settings.events.derive == (("r", "a / b"),)
