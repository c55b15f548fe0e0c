import json

import pytest

from service.errors import ConfigurationError
from service.settings.decisions import DecisionSettings, goal_of, parse_decisions
from service.settings.load import load_settings

CLASSES = {"classes": "ham,spam"}


def refused(**given):
    with pytest.raises(ConfigurationError) as error:
        load_settings({name.replace("__", "."): value for name, value in given.items()})
    return str(error.value)


def test_decisions_come_as_json_and_go_as_a_snapshot_has_them():
    given = json.dumps(
        [
            {"name": "block", "min_precision": 0.99, "class": "spam"},
            {"name": "look", "max_rate": "9/day"},
        ]
    )
    found = load_settings(CLASSES | {"decisions": given}).settings.decisions
    assert found == (
        DecisionSettings("block", "min_precision", 0.99, "spam"),
        DecisionSettings("look", "max_rate", "9/day"),
    )
    assert parse_decisions([list(each) for each in found]) == found
    assert [goal_of(each, ("ham", "spam")) for each in found] == [
        (0, 0.99, True, 0, 0),
        (5, 0.0, True, 9, 86_400_000),
    ]


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ({"min_precision": 0.9}, "name"),
        ({"name": "a", "min_precision": 1}, "between 0 and 1"),
        ({"name": "a", "min_precision": True}, "a number"),
        ({"name": "a", "min_recall": 0.5, "threshold": 3}, "exclude each other"),
        *(
            ({"name": "a", "max_rate": rate}, "a whole number from 1 to 999999999 by second, ")
            for rate in ("many", "0/day", "0.001/day", "1e9/second", "1000000000/day")
        ),
        *(
            ({"name": "a", "threshold": level}, "a number from -1e+100 to 1e+100")
            for level in (1e308, float("nan"), True, "1")
        ),
        ({"name": "a", "min_precison": 0.9}, "no such setting"),
        ({"name": "a", "threshold": 0.5, "class": "eggs"}, "eggs"),
        ({"name": "a"}, "no costs are given"),
    ],
)
def test_what_is_no_decision_is_refused(table, why):
    assert why in refused(decisions=[table], **CLASSES)


def test_a_name_is_given_once():
    assert "named twice" in refused(decisions=[{"name": "a", "threshold": 0.5}] * 2)


def test_among_several_classes_a_decision_names_its_own():
    assert "names no class" in refused(decisions=[{"name": "a", "threshold": 0.5}], classes="a,b,c")
