import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import matthews_corrcoef, precision_recall_fscore_support

from service.partition.parts.confusion import MOST_CLASSES, Confusion, class_figures, first_classes

NAMES = ["sand", "sea", "sky"]
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=80)


def cells_of(pairs):
    confusion = Confusion()
    confusion.add_all(pairs)
    return confusion.cells


@given(PAIRS)
def test_precision_recall_f1_and_correlation_are_those_of_scikit_learn(pairs):
    truths, predictions = zip(*pairs, strict=True)
    found = class_figures(cells_of(pairs))
    theirs = precision_recall_fscore_support(truths, predictions, labels=[*found], zero_division=0)
    for label, *expected in zip(found, *theirs, strict=True):
        mine = found[label]
        assert [mine.precision or 0, mine.recall or 0, mine.f1 or 0] == pytest.approx(expected[:3])
        assert mine.labelled == expected[3]
        sides = [[each == label for each in side] for side in (truths, predictions)]
        if len({*sides[0], *sides[1]}) == 2:
            assert (mine.matthews_correlation or 0) == pytest.approx(matthews_corrcoef(*sides))


@given(PAIRS)
def test_of_two_classes_the_specificity_of_one_is_the_recall_of_the_other(pairs):
    found = class_figures(cells_of([(a == "sea", b == "sea") for a, b in pairs]))
    if len(found) == 2:
        assert found[True].specificity == found[False].recall


def test_what_divides_by_nothing_is_unknown():
    figures = class_figures({("sea", "sea"): 3, ("sky", "sea"): 1})["sky"]
    assert (figures.precision, figures.recall, figures.f1) == (None, 0.0, 0.0)
    assert figures.matthews_correlation is None


def test_the_first_classes_are_told_apart():
    pairs = [(str(number), str(number + 1)) for number in range(100)]
    assert first_classes(pairs) == [str(number) for number in range(MOST_CLASSES)]
