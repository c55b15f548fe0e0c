from collections import Counter
from statistics import mode

from hypothesis import given
from hypothesis import strategies as st

from service.partition.examples import Correction, LearnedExamples, Step
from service.partition.parts.confusion import Confusion

NAMES = st.sampled_from(["sky", "sea", "sand"])
PREDICTIONS = st.lists(st.tuples(NAMES, NAMES), max_size=60)


def counted(predictions):
    confusion = Confusion()
    confusion.add_all(predictions)
    return confusion


@given(PREDICTIONS)
def test_each_prediction_is_in_the_cell_of_its_truth_and_class(predictions):
    assert counted(predictions).cells == Counter(predictions)


@given(PREDICTIONS, st.data())
def test_the_baseline_predicts_the_commonest_class_by_what_is_known_now(predictions, data):
    confusion, truths = counted(predictions), [truth for truth, _ in predictions]
    for k in data.draw(st.lists(st.integers(0, len(truths) - 1), max_size=9)) if truths else ():
        before, truths[k] = truths[k], data.draw(NAMES)
        confusion.correct(Correction(0, predictions[k][1], 1.0, None, before, truths[k], example=None))
    assert confusion.baseline_mistakes == sum(each != mode(truths) for each in truths)


@given(st.lists(st.tuples(st.booleans(), st.booleans())), st.lists(st.tuples(st.booleans(), st.booleans())))
def test_a_batch_counts_as_its_predictions_one_by_one(first, second):
    batches, one_by_one = Confusion(), Confusion()
    for pairs in (first, second):
        one_by_one.add_all(pairs)
        batches.observe(
            LearnedExamples(Step("", {}, 0.0, predicted, truth, False, 0) for truth, predicted in pairs)
        )
    assert batches == one_by_one
    assert batches.state() == one_by_one.state()
    assert [*batches.truths.items()] == [*one_by_one.truths.items()]


def test_what_corrections_took_away_comes_back_from_a_state():
    confusion = counted([("sea", "sky")])
    assert "revoked" not in confusion.state()
    confusion.correct(Correction(0, "sky", 1.0, None, "sea", "sky", example=None))
    assert confusion.revoked == {("sea", "sky"): 1}
    assert Confusion.from_state(confusion.state()) == confusion
