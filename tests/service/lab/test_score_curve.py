import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from service.lab.evaluation import ScoreCurve

EXAMPLES = st.lists(
    st.tuples(st.sampled_from([-2.0, -0.5, 0.0, 1.5, 3.0, 7.0]), st.booleans()), min_size=2, max_size=80
).filter(lambda pairs: len({truth for _, truth in pairs}) == 2)


def curve_of(pairs):
    return ScoreCurve.of([s for s, t in pairs if t], [s for s, t in pairs if not t])


@given(EXAMPLES)
def test_areas_equal_scikit_learn(pairs):
    scores, truths = zip(*pairs, strict=True)
    curve = curve_of(pairs)
    assert curve.auc() == pytest.approx(roc_auc_score(truths, scores))
    assert curve.average_precision() == pytest.approx(average_precision_score(truths, scores))


@given(EXAMPLES)
def test_each_threshold_has_the_precision_and_recall_of_scikit_learn(pairs):
    scores, truths = zip(*pairs, strict=True)
    precisions, recalls, thresholds = precision_recall_curve(truths, scores)
    found = {each.score: each for each in curve_of(pairs).thresholds()}
    for precision, recall, score in zip(precisions, recalls, thresholds, strict=False):
        assert (found[score].precision, found[score].recall) == pytest.approx((precision, recall))
    rates, _, cuts = roc_curve(truths, scores, drop_intermediate=False)
    assert [found[cut].false_positive_rate for cut in cuts[1:]] == pytest.approx([*rates[1:]])


@given(EXAMPLES, st.integers(0, 10))
def test_goal_is_reached_with_the_most_recall(pairs, tenths):
    curve, least = curve_of(pairs), tenths / 10
    for goal in ("precision", "false_positive_rate"):
        found = curve.at(goal, least)
        sign = 1 if goal == "precision" else -1
        reaching = [e for e in curve.thresholds() if sign * getattr(e, goal) >= sign * least - 1e-12]
        assert (found.recall if found else None) == max((e.recall for e in reaching), default=None)
    found = curve.at("recall", least)
    assert found.recall >= least - 1e-12
    assert all(e.recall < least + 1e-12 for e in curve.thresholds() if e.score > found.score)


def test_unreachable_precision_has_no_recall():
    assert ScoreCurve.of(positives=[0.0], negatives=[1.0]).at("precision", 0.9) is None


def test_single_class_has_no_curve():
    assert ScoreCurve.of([1.0], []) is None
