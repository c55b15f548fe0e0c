"""Labels that find no event, and events that gave way before theirs came, are doubts about the figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.partition.parts.counters import WINDOW, Counters, Totals, label_warnings
from service.partition.parts.quality import copied


@given(st.lists(st.lists(st.booleans(), max_size=WINDOW), max_size=5))
def test_predictions_scored_together_count_as_one_by_one(batches):
    together, one_by_one = Counters(), Counters()
    for batch in batches:
        together.score(batch)
        for mistake in batch:
            one_by_one.score([mistake])
    assert together == one_by_one
    assert together.mistakes == sum(map(sum, batches))


def test_recent_error_excludes_labels_before_the_window():
    counters = Counters()
    counters.score([True] * WINDOW)
    counters.score([False] * (WINDOW // 2))
    assert (counters.error_ratio(), counters.recent_error_ratio()) == (2 / 3, 0.5)


def test_count_of_known_mistakes_is_shown_even_at_zero():
    counters = Counters()
    counters.score([True])
    assert "known_mistakes" not in counters.counts()
    counters.revised = -1
    assert counters.counts()["known_mistakes"] == 0


def test_copy_of_counters_is_unaffected_by_later_counts():
    counters = Counters()
    copy = copied(counters)
    counters.consumed["events"] += 1
    counters.labels["late"] += 1
    counters.score([True])
    counters.calibration.add(1.0, correct=True)
    counters.confusion.add_all([(True, True)])
    counters.score_bins.add_all(positives=[1.0], negatives=[])
    assert copy == Counters()
    assert counters != copy


def test_counters_are_restored_from_their_state():
    counters = Counters()
    counters.labels["late"] += 1
    counters.score([True, False])
    counters.calibration.add(1.5, correct=False)
    counters.confusion.add_all([(True, False)])
    counters.score_bins.add_all(positives=[-1.5], negatives=[])
    (back := Counters()).restore(counters.state())
    assert back == counters
    back.labels["new"] += 1
    assert back.recent.maxlen == WINDOW


NONE = Totals(0, 0, 0, 0)


@pytest.mark.parametrize(("late", "orphaned", "is_doubtful"), [(3, 2, False), (3, 3, True), (0, 0, False)])
def test_more_than_a_twentieth_of_unmatched_labels_gives_a_warning(late, orphaned, is_doubtful):
    totals = NONE._replace(late=late, orphaned=orphaned, received=100)
    assert bool(label_warnings(totals, ["a"])) is is_doubtful


def test_three_newest_distinct_ids_are_named():
    found = label_warnings(NONE._replace(orphaned=4, received=10), ["a", "b", "b", "c\n", "d", "d"])
    assert found.startswith(
        "4 of 10 labels match no event: they may be late by events.timestamp and labels.t"
    )
    assert found.endswith("or have other ids: 'b', 'c\\n', 'd'")


@pytest.mark.parametrize("skipped", [0, 7])
def test_label_warning_mentions_skipped_events_where_there_are_any(skipped):
    found = label_warnings(NONE._replace(orphaned=4, received=10, skipped=skipped), [])
    assert ("refer to events that events.where or start_from skips" in found) == bool(skipped)


def test_warning_of_evicted_events_names_the_limit():
    assert label_warnings(NONE._replace(evicted=2), []).endswith("raise max_pending")
