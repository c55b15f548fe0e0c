import pytest
from pydantic import ValidationError

from service.errors import ConfigurationError
from service.settings.decisions import weights_of
from service.settings.load import load_settings
from tests.service.building import settings


@pytest.mark.parametrize(
    ("named", "classes", "found"),
    [
        ({"true": 2, "0": 0.5}, (), {True: 2, False: 0.5}),
        ({"spam": 20}, ("ham", "spam"), {True: 20}),
        ({"b": 0}, ("a", "b", "c"), {"b": 0}),
        ({}, (), {}),
    ],
)
def test_classes_have_their_weights(named, classes, found):
    assert weights_of(settings(class_weights=named, classes=classes).class_weights, classes) == found


@pytest.mark.parametrize("weight", [-1, float("nan"), float("inf"), 1e13, "many", True])
def test_a_weight_that_is_no_number_from_0_to_1e12_is_refused(weight):
    with pytest.raises(ValidationError, match="class_weights"):
        settings(class_weights={"true": weight})


@pytest.mark.parametrize(
    ("named", "why"), [({"maybe": 1}, "'maybe' is none of"), ({"true": 1, "1": 2}, "denote the same class")]
)
def test_names_that_denote_no_class_or_the_same_are_refused(named, why):
    with pytest.raises(ValidationError, match=why):
        settings(class_weights=named)


def test_the_name_that_denotes_no_class_is_blamed():
    given = {"classes": "ham,spam", "class_weights": {"ham": 2, "spma": 5}}
    with pytest.raises(
        ConfigurationError, match=r"^class_weights\.spma = 5 \(from command line\): .* mean 'spam'"
    ):
        load_settings(given)
