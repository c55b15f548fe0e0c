from collections import Counter
from statistics import mode

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import matthews_corrcoef, precision_recall_fscore_support

from service.partition.examples import Correction
from service.partition.parts.quality import Confusion, class_metrics
from tests.service.building import learned

NAMES = st.sampled_from(["sky", "sea", "sand"])
PREDICTIONS = st.lists(st.tuples(NAMES, NAMES), max_size=60)


def counted(predictions):
    confusion = Confusion()
    confusion.add_all(predictions)
    return confusion


@given(PREDICTIONS)
def test_each_prediction_is_counted_under_its_truth_and_class(predictions):
    assert counted(predictions).cells == Counter(predictions)


@given(PREDICTIONS, st.data())
def test_baseline_predicts_the_majority_class_of_known_labels(predictions, data):
    confusion, truths = counted(predictions), [truth for truth, _ in predictions]
    for k in data.draw(st.lists(st.integers(0, len(truths) - 1), max_size=9)) if truths else ():
        before, truths[k] = truths[k], data.draw(NAMES)
        confusion.correct(Correction(0, predictions[k][1], 1.0, None, before, truths[k], example=None))
    assert confusion.baseline_mistakes == sum(each != mode(truths) for each in truths)


@given(st.lists(st.tuples(st.booleans(), st.booleans())), st.lists(st.tuples(st.booleans(), st.booleans())))
def test_batch_counts_as_its_predictions_one_by_one(first, second):
    batches, one_by_one = Confusion(), Confusion()
    for pairs in (first, second):
        one_by_one.add_all(pairs)
        batches.observe(learned(*[(predicted, truth, 0.0) for truth, predicted in pairs]))
    assert batches == one_by_one
    assert batches.state() == one_by_one.state()
    assert [*batches.truths.items()] == [*one_by_one.truths.items()]
    assert {type(each) for pair in batches.cells for each in pair} <= {bool}  # 1 == True


def test_revoked_labels_are_restored_from_a_state():
    confusion = counted([("sea", "sky")])
    confusion.correct(Correction(0, "sky", 1.0, None, "sea", "sky", example=None))
    assert confusion.revoked == {("sea", "sky"): 1}
    assert Confusion.from_state(confusion.state()) == confusion


@given(PREDICTIONS)
def test_precision_recall_f1_and_correlation_equal_scikit_learn(pairs):
    assume(pairs)
    truths, predictions = zip(*pairs, strict=True)
    found = class_metrics(counted(pairs).cells)
    theirs = precision_recall_fscore_support(truths, predictions, labels=[*found], zero_division=0)
    for label, *expected in zip(found, *theirs, strict=True):
        mine = found[label]
        assert [mine.precision or 0, mine.recall or 0, mine.f1 or 0] == pytest.approx(expected[:3])
        assert mine.labelled == expected[3]
        sides = [[each == label for each in side] for side in (truths, predictions)]
        if len({*sides[0], *sides[1]}) == 2:
            assert (mine.matthews_correlation or 0) == pytest.approx(matthews_corrcoef(*sides))


@given(PREDICTIONS)
def test_specificity_of_one_class_is_the_recall_of_other(pairs):
    found = class_metrics(counted([(a == "sea", b == "sea") for a, b in pairs]).cells)
    if len(found) == 2:
        assert found[True].specificity == found[False].recall


def test_ratio_with_denominator_zero_is_unknown():
    metrics = class_metrics({("sea", "sea"): 3, ("sky", "sea"): 1})["sky"]
    assert (metrics.precision, metrics.recall, metrics.f1) == (None, 0.0, 0.0)
    assert metrics.matthews_correlation is None
