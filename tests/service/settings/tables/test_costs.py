import pytest

from service.errors import ConfigurationError
from service.settings.load import load_settings


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"costs.false_positive": 1}, "must both be given"),
        ({"costs.false_positive": 1, "costs.false_negative": -1}, "greater than or equal to 0"),
        ({"costs.false_positive": 1, "costs.false_negative": 2, "classes": "a,b,c"}, "two classes"),
    ],
)
def test_costs_that_say_nothing_are_refused(given, why):
    with pytest.raises(ConfigurationError, match=why):
        load_settings(given)
