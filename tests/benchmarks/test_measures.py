"""What the benchmarks make of the values they measure."""

from datetime import date

import pytest

from benchmarks.measures.base import Contest, Goal, Reading, Result, Row
from benchmarks.measures.report import page, verdict, without_note


def result(ours, peer=(), *, reading=Reading.RATIO, goal=None):
    row = Row("row", "A | B", "events/s", goal or Goal(2), "how", reading)
    return Result(row, list(ours), list(peer))


def written(*results, notes=None):
    return page(results, notes or {}, machine="a machine", versions={"Python": "3"}, day=date(2026, 1, 2))


def test_the_page_ends_with_the_stages_of_the_loop():
    table = ["| µs | confluent |", "|---|---:|", "| poll | 1.00 |"]
    given = {"machine": "a machine", "versions": {}, "day": date(2026, 1, 2), "stages": table}
    assert page([], {}, **given).rstrip().endswith("\n".join(table))


def test_the_result_is_the_ratio_of_medians_and_not_the_median_of_ratios():
    assert result([10, 20, 90], [1, 5, 10]).value == 4


def test_the_spread_is_that_of_the_single_runs():
    assert result([10, 20, 90], [1, 5, 10]).spread == (4, 10)


def test_an_excess_is_the_difference_of_the_medians():
    assert result([3, 5, 4], [1, 2, 1], reading=Reading.EXCESS).value == 3


def test_an_amount_needs_no_peer():
    assert result([3, 5, 4], reading=Reading.AMOUNT).value == 4


@pytest.mark.parametrize(("at_least", "reached"), [(True, False), (False, True)])
def test_a_goal_is_a_lower_or_an_upper_bound(at_least, reached):
    goal = Goal(10, "ms", at_least=at_least)
    assert result([4], reading=Reading.AMOUNT, goal=goal).is_reached is reached


def test_what_was_not_measured_is_not_reached():
    assert not result([]).is_reached


def test_a_verdict_that_single_runs_contradict_has_a_question_mark():
    assert verdict(result([6, 6, 1], [1, 1, 1])) == "yes?"
    assert verdict(result([1, 1, 6], [1, 1, 1])) == "NO?"
    assert verdict(result([6, 6, 6], [1, 1, 1])) == "yes"


def test_ours_and_the_peer_take_turns_at_being_first():
    order = []
    contest = Contest(lambda: order.append("ours") or (1,), lambda: order.append("peer") or (1,))
    contest.run(0)
    contest.run(1)
    assert order == ["ours", "peer", "peer", "ours"]


def test_a_missed_goal_is_explained_by_its_note():
    assert "limited by memory" in written(result([1], [1]), notes={"row": "limited by memory"})


def test_a_goal_that_single_runs_miss_is_explained_by_its_note():
    notes = {"row": "limited by memory"}
    assert "limited by memory" in written(result([6, 6, 1], [1, 1, 1]), notes=notes)
    assert "limited by memory" not in written(result([6, 6, 6], [1, 1, 1]), notes=notes)


def test_the_page_ends_with_what_was_measured_otherwise():
    notes = {"auto-seeds": "alike", "newest-python": "as fast"}
    page = written(result([9], [1]), notes=notes)
    assert page.endswith("## On the newest Python\n\nas fast\n\n## Five seeds of `auto`\n\nalike\n")


def test_a_missed_goal_without_a_note_is_named():
    assert without_note([result([1], [1]), result([9], [1])], {}) == ["row"]


def test_a_bar_in_a_title_does_not_end_a_cell():
    assert r"A \| B" in written(result([9], [1]))


def test_a_skipped_row_says_why():
    skipped = result([])
    skipped.missing = "skipped: no JVM"
    assert "skipped: no JVM" in written(skipped)


def test_a_row_without_a_goal_is_neither_reached_nor_missed():
    row = Row("row", "A", "events/s", None, "how", Reading.AMOUNT)
    beside = Result(row, [3.0, 4.0])
    assert verdict(beside) == ""
    assert without_note([beside], {}) == []
    assert "| A | 3.5 events/s |  | 3.5 events/s |  | 3–4 |  |" in written(beside)
    assert "not reached" not in written(beside)
