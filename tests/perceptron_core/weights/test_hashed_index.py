import os

import numpy as np
import pytest

from perceptron_core import AROW, AveragedPerceptron, FeatureError, HashedClassifier, Perceptron, Rows


def test_weights_come_in_the_order_of_their_indices():
    model = HashedClassifier(bits=4)
    model.learn_one({9: 1.0, 3: 2.0}, True)
    assert list(model.weights.items()) == [(3, 2.0), (9, 1.0)]


def test_set_weights_replace_earlier_weights():
    learner = Perceptron().hashed(4)
    learner.learn_one({3: 1.0, 9: 1.0}, True)
    learner.weights = {7: 2.0}
    assert learner.weights == {7: 2.0}
    assert learner.score_one({3: 1.0, 7: 1.0}) == learner.bias + 2.0
    with pytest.raises(FeatureError, match="feature 16"):
        learner.weights = {16: 1.0}


def test_reported_size_is_the_size_of_the_columns():
    for learner, columns in ((Perceptron(), 1), (AveragedPerceptron(), 2), (AROW(full=True), 1)):
        size = learner.hashed(10).table.__sizeof__()
        assert 8 * 1024 * columns <= size < 8 * 1024 * columns + 500


def test_last_rows_read_nothing_beyond_the_array():
    n = 200
    rows = Rows(np.arange(n + 1), np.full(n, 15, np.int32), np.ones(n))
    model = HashedClassifier(bits=4)
    model.learn_rows(rows, np.arange(n) % 2 == 0)
    assert model.n_updates > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_forked_process_learns_for_itself():
    model = HashedClassifier(bits=20)
    model.learn_one({3: 1.0}, True)
    child = os.fork()
    if not child:
        model.learn_one({3: 1.0}, False)
        os._exit(model.weights != {})
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert model.weights == {3: 1.0}
