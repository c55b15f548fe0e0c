"""What holds of each part of `AutoClassifier`, as a learner of its own and among the others."""

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from perceptron_core import (
    AutoClassifier,
    CharacterNaiveBayes,
    HoeffdingForest,
    NearestNeighbors,
    from_bytes,
    to_bytes,
)
from tests.perceptron_core.auto.laws import (
    KINDS,
    check_altered,
    check_explanations_add_up,
    check_it_goes_on_from_bytes,
    languages,
    mistakes,
    patches,
    taught,
    thresholds,
)


class Part(NamedTuple):
    made: Callable[..., Any]
    stream: Callable[..., Any]
    n: int
    """Events from which it has learned."""
    most_wrong: float
    """Share of its mistakes on the next events."""
    group: str
    """Its learners in `AutoClassifier`."""
    maps: str
    """What keeps its state."""
    altered: tuple[str, ...]


PARTS = [
    Part(
        *(HoeffdingForest, thresholds, 1200, 0.12, "forest", "trees"),
        ("tests", "children", "masks", "votes", "n_nodes", "features", "leaves", "drift"),
    ),
    Part(
        *(NearestNeighbors, patches, 1030, 0.2, "neighbors", "neighbors"),
        ("n_events", "shares", "labels", "weights", "rows"),
    ),
    Part(
        *(CharacterNaiveBayes, languages, 100, 0.1, "characters", "characters"),
        ("grams", "counts", "events", "totals"),
    ),
]
every_part = pytest.mark.parametrize("part", PARTS, ids=lambda part: part.made.__name__)


@every_part
@pytest.mark.parametrize("n_classes", KINDS)
def test_learner_resumes_from_bytes_unchanged(part, n_classes):
    model = taught(part.made(), part.stream(part.n, n_classes))
    check_it_goes_on_from_bytes(model, part.stream(100, n_classes, seed=3))
    assert mistakes(model, part.stream(400, n_classes, seed=2)) < part.most_wrong * 400


@every_part
@pytest.mark.parametrize("n_classes", KINDS)
def test_learner_in_auto_round_trips_and_explains(part, n_classes):
    model = taught(AutoClassifier(), part.stream(300, n_classes))
    assert part.group in model.groups
    check_it_goes_on_from_bytes(model, part.stream(100, n_classes, seed=3))
    check_explanations_add_up(model, part.stream(20, n_classes, seed=7))


@pytest.mark.parametrize("made", [HoeffdingForest, NearestNeighbors, AutoClassifier])
def test_model_from_bytes_continues_when_columns_come_and_go(made):
    model, again = made(max_columns=3), made(max_columns=3)
    draw = random.Random(3)
    for n in range(1500):
        names = "b" if 50 <= n < 300 else "ab" if n < 600 else "abc"  # a goes after 200 events, and returns
        x, y = {name: draw.random() for name in names}, draw.random() < 0.5
        if n % 50 == 0:
            again = from_bytes(to_bytes(again))
        assert again.log_odds(x) == model.log_odds(x)
        model.learn_one(x, y)
        again.learn_one(x, y)
    assert to_bytes(again) == to_bytes(model)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("made", [AutoClassifier, *(part.made for part in PARTS)])
def test_copy_learns_as_the_original(made, copied):
    model, events = taught(made(), thresholds(200)), [*thresholds(100, seed=4)]
    again = copied(model)
    assert to_bytes(taught(again, events)) == to_bytes(taught(model, events))


@pytest.mark.parametrize("made", [AutoClassifier, *(part.made for part in PARTS)])
def test_prediction_changes_nothing(made):
    one, two = made(), made()
    for x, y in thresholds(200):
        one.predict_proba_one({**x, "new": 1.5, "kind": "q", "other": "Привет, 世界"})
        one.learn_one(x, y)
        two.learn_one(x, y)
    assert to_bytes(one) == to_bytes(two)


@pytest.mark.parametrize("made", [HoeffdingForest, NearestNeighbors])
def test_empty_events_are_predicted_by_class_shares(made):
    assert taught(made(), [({}, n % 3 > 0) for n in range(100)]).predict_proba_one({})[True] > 0.5


@every_part
def test_low_effort_model_lacks_the_part(part):
    model = taught(AutoClassifier(effort="low"), part.stream(100))
    assert part.group not in model.groups
    assert part.maps not in model._get_state()["maps"]


@pytest.mark.parametrize(
    ("part", "name"),
    [pytest.param(part, name, id=f"{part.maps}-{name}") for part in PARTS for name in part.altered],
)
def test_altered_state_is_rejected_or_works(part, name):
    check_altered(taught(part.made(), part.stream(200, 3)), (part.maps, name), part.stream(20, 3, seed=6), 25)
