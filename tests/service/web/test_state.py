"""What the page shows: of all partitions sums, one curve, a row for each; of a mixture its experts."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.mixing.mixture import ExpertStatus
from service.models.learner import MixtureStatus
from service.monitoring.history import Point
from service.web.views import CURVES, POINTS_SHOWN, experts_shown, thinned, together, with_ratios
from tests.service.building import event
from tests.service.web.stage import Stage


def curve(*points):
    """Make a history of (seconds, labelled, mistakes)."""
    columns = {name: [0.0] * len(points) for name in CURVES}
    columns |= {name: list(values) for name, values in zip(CURVES, zip(*points, strict=True), strict=False)}
    return with_ratios(columns)


def state(partition, history, **more):
    return {
        "partition": partition,
        "model": "Perceptron",
        "classes": [False, True],
        "counts": {"predictions": 10, "labelled": 8, "mistakes": 2},
        "events_per_second": 5.0,
        "lag": 3,
        "window": 200,
        "history": history,
        "quality": {
            "labelled": 8,
            "cells": [[True, False, 2]],
            "score_bins": [[-1.0, 1, 3], [1.0, 3, 1]],
            "pairs": 16,
            "ordered_pairs": 12.0,
            "loss": 0.0,
        },
        "decisions": [],
        "cost": None,
        "costs": None,
        "shows_events": True,
        "columns": [],
        "events": [],
        "mistakes": [],
        "rows": [{"partition": partition}],
    } | more


def test_counts_are_added_up():
    told = together([state(0, curve()), state(1, curve())])
    assert told["counts"] == {"predictions": 20, "labelled": 16, "mistakes": 4}
    assert (told["events_per_second"], told["lag"]) == (10.0, 6)
    assert told["quality"]["cells"] == [(True, False, 4)]
    assert (told["quality"]["pairs"], told["quality"]["ordered_pairs"]) == (32, 24.0)
    assert told["quality"]["score_bins"] == [(-1.0, 2, 6), (1.0, 6, 2)]


def test_counts_of_decisions_are_added_up_and_each_threshold_stays():
    block = {"name": "block", "class": True, "goal": "min_precision = 0.9", "labelled": 3, "right": 2}
    one, other = ([block | {"decided": 4, "thresholds": found}] for found in ([0.7], []))
    third = [one[0] | {"thresholds": [0.5]}]
    states = [(one, 2.5), (other, 1.0), (third, 0.0)]
    told = together([state(n, curve(), decisions=each, cost=cost) for n, (each, cost) in enumerate(states)])
    assert told["cost"] == 3.5
    assert told["decisions"] == [block | {"decided": 12, "labelled": 9, "right": 6, "thresholds": [0.5, 0.7]}]


def test_a_lag_that_is_not_known_is_not_counted():
    assert together([state(0, curve(), lag=None), state(1, curve())])["lag"] == 3
    assert together([state(0, curve(), lag=None)])["lag"] is None


def test_curves_are_added_up_over_time():
    told = together([state(0, curve((1, 10, 5), (3, 20, 7))), state(1, curve((2, 100, 10), (4, 200, 20)))])
    history = told["history"]
    assert history["seconds"] == [2, 3, 4]  # at 1 nothing was labelled that was not at 2
    assert history["labelled"] == [110, 120, 220]
    assert history["mistakes"] == [15, 17, 27]
    assert history["error"] == [15 / 110, 17 / 120, 27 / 220]


def test_before_its_first_point_a_curve_counts_as_there():
    """Else the curve of all would jump when a partition with a past moves here."""
    told = together([state(0, curve((1, 10, 1), (9, 20, 2))), state(1, curve((5, 1000, 100)))])
    assert told["history"]["labelled"] == [1010, 1020]


points = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 9), st.integers(0, 9)), max_size=30)


def growing(steps):
    seconds = labelled = mistakes = 0
    made = []
    for pause, more, wrong in steps:
        seconds, labelled, mistakes = seconds + pause, labelled + more, mistakes + min(wrong, more)
        made.append((seconds, labelled, mistakes))
    return curve(*made)


@given(st.lists(points, min_size=1, max_size=4))
def test_the_curve_of_all_rises_and_ends_at_the_sum_of_the_ends(all_steps):
    curves = [growing(steps) for steps in all_steps]
    history = together([state(n, each) for n, each in enumerate(curves)])["history"]
    assert history["labelled"] == sorted(history["labelled"])
    assert history["labelled"][-1:] == (
        [sum(each["labelled"][-1] for each in curves if each["labelled"])] * any(all_steps)
    )


def test_a_curve_of_all_has_few_points():
    long = curve(*((n, n, 0) for n in range(2000)))
    assert len(together([state(0, long)])["history"]["labelled"]) <= 401


def test_the_latest_events_of_all_come_in_their_order():
    first = state(0, curve(), events=[{"id": "c", "seconds": 3}, {"id": "a", "seconds": 1}])
    second = state(1, curve(), events=[{"id": "b", "seconds": 2}])
    assert [each["id"] for each in together([first, second])["events"]] == ["c", "b"]


def test_the_surest_mistakes_of_all_come_first():
    first = state(0, curve(), mistakes=[{"id": "a", "sureness": 3.0}, {"id": "b", "sureness": 1.0}])
    second = state(1, curve(), mistakes=[{"id": "c", "sureness": 2.0}])
    assert [each["id"] for each in together([first, second])["mistakes"]] == ["a", "c"]


WORDS = ExpertStatus("words: SCW", 0.25, 7, 1.0, 4.0)
GRAMS = ExpertStatus("grams: SCW", -0.123456, 3, 0.0, 0.0)


def point(labelled, *experts):
    return Point(labelled, 0, 0, None, None, MixtureStatus("mixture", experts) if experts else None)


@given(st.integers(0, 500))
def test_at_most_so_many_points_are_shown_evenly_spaced_up_to_the_newest(n):
    shown = thinned([*range(n)], POINTS_SHOWN)
    assert len(shown) <= POINTS_SHOWN
    assert len(shown) >= min(n, POINTS_SHOWN // 2)
    assert len({after - before for before, after in itertools.pairwise(shown)}) <= 1
    assert shown[-1:] == [*range(n)][-1:]


def test_the_curve_of_an_expert_that_joined_later_has_gaps_before_it_and_before_its_first_label():
    now = MixtureStatus("mixture", [WORDS, GRAMS])
    shown = experts_shown(now, [point(0), point(1, WORDS), point(2, GRAMS, WORDS)])
    assert shown["labelled"] == [1, 2]
    assert shown["experts"][1]["weights"] == [None, -0.1235]
    assert shown["experts"][1]["errors"] == [None, None]


@pytest.fixture
def stage():
    stage = Stage(partitions=(0, 1), model="coin-betting")
    stage(event("a", "win", label=True), event("b", "see", label=False), partition=0)
    stage(event("c", "win", label=True), event("d", "see"), partition=1)
    return stage


def test_of_several_partitions_all_are_shown_unless_one_is_named(stage):
    with stage.served() as client:
        shown = [
            client.get("/state", params=each).json() for each in ({}, {"partition": "all"}, {"partition": 1})
        ]
    assert [each["partition"] for each in shown] == ["all", "all", 1]
    assert [each["counts"]["predictions"] for each in shown] == [4, 4, 2]
    assert [len(each["rows"]) for each in shown] == [2, 2, 1]


def test_a_row_tells_how_a_partition_does(stage):
    with stage.served() as client:
        first, second = client.get("/state").json()["rows"]
    counters = stage.feeds[0].counters
    assert (first["partition"], first["counts"]["predictions"]) == (0, 2)
    assert first["error"] == counters.error_ratio()
    assert first["auc"] == counters.score_bins.pairs().auc()
    assert first["log_loss"] == pytest.approx(counters.calibration.log_loss())
    assert second["auc"] is None  # no label of the other class


def test_the_page_learns_which_stream_is_read_and_for_how_long():
    with Stage(group="mine", events_topic="pages", broker="kafka://one:9092").served() as client:
        told = client.get("/state").json()
    assert (told["broker"], told["topic"], told["group"]) == ("kafka://one:9092", "pages", "mine")
    assert 0 <= told["uptime_seconds"] < 60


@pytest.mark.parametrize("shown", [300, 4])
def test_the_page_gets_all_labelled_scores_in_few_bins(monkeypatch, shown):
    monkeypatch.setattr("service.web.views._BINS_SHOWN", shown)
    stage = Stage(model="coin-betting")
    for n in range(40):
        stage(event(f"e-{n}", f"win w{n % 3}" if n % 3 else "see", label=n % 2 == 0))
    with stage.served() as client:
        bins = client.get("/state").json()["quality"]["score_bins"]
    counted = stage.feeds[0].counters.score_bins
    assert len(bins) <= shown
    assert sum(positives for _, positives, _ in bins) == counted.positives.total()
    assert sum(negatives for *_, negatives in bins) == counted.negatives.total()
    assert [least for least, *_ in bins] == sorted(least for least, *_ in bins)


def test_classes_beyond_the_commonest_thirty_are_one():
    names = [f"c{n}" for n in range(40)]
    stage = Stage(classes=",".join(names))
    for name in names:
        stage(event(name, "x", label=name))
    with stage.served() as client:
        cells = client.get("/state").json()["quality"]["cells"]
    assert sum(count for truth, _, count in cells if truth is None) == 10
    assert sum(count for *_, count in cells) == 40


@pytest.mark.parametrize(
    ("given", "offered"),
    [
        ({}, True),
        ({"events": {"label_on_timeout": "false"}}, True),
        ({"events": {"unknown_fields": "ignore"}, "labels": {"unknown_fields": "ignore"}}, True),
        ({"events": {"unknown_fields": "ignore"}, "labels_topic": ""}, False),
        ({"events": {"id": "order.id"}}, False),
        ({"labels": {"label": "verdict"}}, False),
        ({"events": {"id": "@key", "format": "text"}}, False),
    ],
)
def test_the_page_offers_to_teach_where_its_events_and_labels_are_taken(given, offered):
    stage = Stage(**given)
    with stage.served() as client:
        told = client.get("/state").json()
        answers = [
            client.post("/events", json={"id": "typed", "text": "win", "features": {}}).status_code,
            client.post("/labels", json={"id": "typed", "label": True}).status_code,
        ]
    assert told["teaches"] is offered is (answers == [200, 200])
