"""Windows by key are refused at the start, with the place that is wrong."""

import pytest

from service.errors import ConfigurationError
from service.settings.load import load_settings
from service.settings.mapping import EventSettings
from service.settings.windows import WindowSettings
from tests.service.building import settings

ONE = {"by": "card", "over": ["1h"], "of": {"amount": ["sum"]}}


def wrong(**given):
    return [{**ONE, **given}]


@pytest.mark.parametrize(
    ("windows", "message"),
    [
        (wrong(over=["1x"]), "over: '1x' is no span.*such as 10m"),
        (wrong(over=["0s"]), "'0s' is no span"),
        (wrong(over=["9999w"]), "3660d at most"),
        (wrong(over=["60m", "1h"]), "'60m' and '1h' are the same span"),
        (wrong(over=[]), "over is missing"),
        (wrong(over=[f"{n}s" for n in range(1, 10)]), "9 spans; 8 at most"),
        (wrong(over=[60]), "over: expected texts"),
        (wrong(of={"amount": ["median"]}), "no aggregate 'median'; there are count, sum, mean"),
        (wrong(of={"amount": ["sum", "sum"]}), "'sum' is named twice"),
        (wrong(of={"amount": []}), "of.amount: expected texts"),
        (
            wrong(of={"@event": ["sum"]}),
            "of.@event: there is no aggregate 'sum'; there are count, seconds_since_last",
        ),
        (wrong(of={"@label": ["mean"]}), "there are rate"),
        (wrong(of={"@key": ["sum"]}), "there is no @key; there are @event, @label and paths"),
        (wrong(of={"a[": ["sum"]}), r"of.a\[: not JMESPath"),
        (wrong(of={}), "of is missing"),
        (wrong(of=7), "of: expected a table"),
        (wrong(of=["amount"]), "of: expected a table"),
        (wrong(by=""), "by is missing"),
        (wrong(by="a["), "by: not JMESPath"),
        (wrong(by=7), "by: expected a path"),
        (wrong(max_keys=0), "max_keys: expected a whole number from 1 to 10,000,000"),
        (wrong(max_keys=True), "max_keys: expected a whole number"),
        (wrong(most=3), "most: there is no such setting; there are by, over, of, max_keys"),
        ([ONE, ONE], "'amount_sum_1h_by_card' is made twice"),
        ([{**ONE, "by": f"k{n}"} for n in range(9)], "there are 9; 8 at most"),
        (wrong(of={f"a{n}": "sum,mean,max" for n in range(100)}), "300 features are made; 256 at most"),
        (["card"], "number 1: expected a table"),
        (7, "expected tables"),
        ("{", "not a JSON object"),
    ],
)
def test_what_is_no_window_is_refused_with_the_place(windows, message):
    with pytest.raises(ConfigurationError, match=rf"(?s)events\.windows.*{message}"):
        load_settings({"events.windows": windows})


@pytest.mark.parametrize(
    ("others", "message"),
    [
        (
            {"derive": {"amount_sum_1h_by_card": "1"}},
            "'amount_sum_1h_by_card' is made by events.derive as well",
        ),
        ({"features": "amount_sum_1h_by_card"}, "is made by events.features as well"),
    ],
)
def test_a_name_that_another_setting_makes_is_refused(others, message):
    with pytest.raises(ValueError, match=message):
        settings(events={"windows": [ONE], **others})


@pytest.mark.parametrize("by", ["card", "user.card"])
def test_a_derived_feature_that_uses_one_of_a_window_is_refused(by):
    derive = {"spent": "amount * 2", "ratio": f"spent / amount_sum_1h_by_{by}"}
    message = f"ratio uses 'amount_sum_1h_by_{by}', a feature of events.windows: windows count derived"
    with pytest.raises(ValueError, match=message):
        settings(events={"windows": [{**ONE, "by": by}], "derive": derive})
    settings(events={"windows": [{**ONE, "over": ["2h"]}], "derive": derive})


def test_rates_are_of_two_classes():
    windows = wrong(of={"@label": "rate"})
    settings(events={"windows": windows}, classes="ham,spam")
    with pytest.raises(ValueError, match="there are none where there are more than two classes"):
        settings(events={"windows": windows}, classes="a,b,c")


def test_text_as_a_whole_has_no_fields_for_windows():
    with pytest.raises(ValueError, match=r"events.format text has no fields for events.windows"):
        settings(events={"format": "text", "id": "@key", "windows": [ONE]})


def test_tables_json_and_what_a_snapshot_has_say_the_same(tmp_path):
    toml = tmp_path / "service.toml"
    toml.write_text('[[events.windows]]\nby = "card"\nover = ["1h"]\nof.amount = ["sum"]\n')
    wanted = (WindowSettings("card", ("1h",), (("amount", ("sum",)),), 100_000),)
    json = '[{"by": "card", "over": "1h", "of": {"amount": "sum"}}]'
    packed = (("card", ("1h",), (("amount", ("sum",)),), 100_000),)
    assert EventSettings(windows="").windows == ()
    for given in ([ONE], json, packed, wanted):
        assert EventSettings(windows=given).windows == wanted
        assert load_settings({"events.windows": given}).settings.events.windows == wanted
    assert load_settings({}, toml).settings.events.windows == wanted
