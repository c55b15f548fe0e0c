from hypothesis import given
from hypothesis import strategies as st

from service.partition.parts.counters import WINDOW, Counters


@given(st.lists(st.lists(st.booleans(), max_size=WINDOW), max_size=5))
def test_predictions_scored_together_count_as_one_by_one(batches):
    together, one_by_one = Counters(), Counters()
    for batch in batches:
        together.score(batch)
        for mistake in batch:
            one_by_one.score([mistake])
    assert together == one_by_one
    assert together.mistakes == sum(map(sum, batches))


def test_the_recent_error_forgets_what_left_the_window():
    counters = Counters()
    counters.score([True] * WINDOW)
    counters.score([False] * (WINDOW // 2))
    assert (counters.error_ratio(), counters.recent_error_ratio()) == (2 / 3, 0.5)


def test_mistakes_that_corrections_took_away_are_told_even_if_none_is_left():
    counters = Counters()
    counters.score([True])
    assert "known_mistakes" not in counters.counts()
    counters.revised = -1
    assert counters.counts()["known_mistakes"] == 0


def test_a_copy_is_left_alone_by_later_counting():
    counters = Counters()
    copy = counters.copy()
    counters.consumed["events"] += 1
    counters.rejected["empty"] += 1
    counters.labels["late"] += 1
    counters.score([True])
    counters.calibration.add(1.0, correct=True)
    counters.confusion.add_all([(True, True)])
    counters.score_bins.add_all(positives=[1.0], negatives=[])
    assert copy == Counters()
    assert counters != copy


def test_counters_come_back_from_their_state():
    counters = Counters()
    counters.labels["late"] += 1
    counters.score([True, False])
    back = Counters.from_state(counters.state())
    assert back == counters
    back.labels["new"] += 1
    assert back.recent.maxlen == WINDOW


def test_the_calibration_comes_back_too():
    counters = Counters()
    counters.calibration.add(1.5, correct=False)
    assert Counters.from_state(counters.state()) == counters


def test_the_confusion_matrix_and_the_bins_of_scores_come_back_too():
    counters = Counters()
    counters.confusion.add_all([(True, False)])
    counters.score_bins.add_all(positives=[-1.5], negatives=[])
    assert Counters.from_state(counters.state()) == counters


def test_a_state_of_a_release_that_knew_neither_is_read():
    counters = Counters()
    counters.score([True])
    assert Counters.from_state(counters.state()) == counters
    assert not counters.state().keys() & {"confusion", "score_bins"}


def test_the_state_says_nothing_of_probabilities_where_there_were_none():
    counters = Counters()
    counters.score([True])
    assert "calibration" not in counters.state()
