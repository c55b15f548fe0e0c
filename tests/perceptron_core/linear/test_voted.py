from hypothesis import given
from hypothesis import strategies as st

from perceptron_core import Perceptron, VotedPerceptron
from tests.support.learners import examples, learn, streams


def sign(value):
    return (value > 0) - (value < 0)


def brute_force(stream, cap=None, fit_intercept=True):
    """Return [weights, bias, count] of every survivor, each written out in full."""
    plain, survivors = Perceptron(fit_intercept=fit_intercept), []
    for x, y in stream:
        if plain.update_one(x, y):
            survivors.append([dict(plain.weights), plain.bias, 1])
            if cap is not None and len(survivors) > cap:
                survivors.remove(min(survivors[:-1], key=lambda survivor: survivor[2]))
        else:
            survivors[-1][2] += 1
    return survivors


def vote(survivors, x):
    scores = [
        (b + sum(w.get(name, 0.0) * value for name, value in x.items()), count) for w, b, count in survivors
    ]
    total = sum(count for _, count in scores)
    return sum(count * sign(a) for a, count in scores) / total if total else 0.0


@given(streams, examples, st.sampled_from([None, 1, 2, 5]), st.booleans())
def test_vote_equals_the_sum_over_all_survivors(stream, last, cap, fit_intercept):
    model = learn(VotedPerceptron(max_survivors=cap, fit_intercept=fit_intercept), stream)
    survivors = brute_force(stream, cap, fit_intercept)
    assert [survivor.count for survivor in model.survivors] == [count for _, _, count in survivors]
    assert model.score_one(last[0]) == vote(survivors, last[0])


def test_probability_is_the_share_of_the_votes():
    model = learn(VotedPerceptron(), [({"a": 1.0}, True)] * 3 + [({"a": 1.0}, False)])
    assert model.predict_proba_one({"a": 1.0}) == {False: 0.125, True: 0.875}
