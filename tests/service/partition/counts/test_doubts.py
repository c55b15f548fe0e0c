"""Labels that find no event, and events that gave way before theirs came, are doubts about the figures."""

import pytest

from service.partition.parts.counters import Totals, doubts_of_labels

NONE = Totals(0, 0, 0, 0)


@pytest.mark.parametrize(("late", "orphaned", "is_doubtful"), [(3, 2, False), (3, 3, True), (0, 0, False)])
def test_more_than_a_twentieth_of_the_labels_without_event_is_a_doubt(late, orphaned, is_doubtful):
    totals = NONE._replace(late=late, orphaned=orphaned, received=100)
    assert bool(doubts_of_labels(totals, ["a"])) is is_doubtful


def test_three_ids_are_named_the_newest_ones_each_once():
    totals = NONE._replace(orphaned=4, received=10)
    found = doubts_of_labels(totals, ["a", "b", "b", "c\n", "d", "d"])
    assert found == (
        "4 of 10 labels found no event: labels may come later than label_timeout_seconds and "
        r"label_correction_seconds, or name other ids: 'b', 'c\n', 'd'"
    )


@pytest.mark.parametrize("skipped", [0, 7])
def test_labels_may_be_of_events_that_were_skipped_where_any_was(skipped):
    found = doubts_of_labels(NONE._replace(orphaned=4, received=10, skipped=skipped), [])
    assert ("be of events that events.where or start_from skips" in found) == bool(skipped)


def test_events_that_gave_way_name_the_limits():
    assert doubts_of_labels(NONE._replace(displaced=2), []).endswith(
        "raise max_pending and max_pending_bytes"
    )
