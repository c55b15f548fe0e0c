"""What candidates weigh in the prediction, by their losses and by how late labels come."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perceptron_core.mixing.lead import COMBINED, Lead

AT_ONCE, LATE = 64, 65
lateness = st.sampled_from([0, AT_ONCE, LATE])
FOR_LATE, FOR_PROMPT = 1, 2
IN_USE = (0, FOR_LATE, 3)
"""Of four candidates, where labels come late."""
losses = st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=4, max_size=4)
rounds = st.lists(st.tuples(lateness, losses), max_size=30)


def fresh(discount=0.9):
    lead = Lead(1, 1, 1, 8)
    lead.set_n_experts(1)
    lead.discount = discount
    return lead


def judge(lead, rounds, given=0.0):
    for lateness, found in rounds:
        lead.note_lateness(lateness)
        lead.evaluate(COMBINED, given)
        for candidate, loss in enumerate(found):
            lead.evaluate(candidate, loss)
        lead.choose()
    return lead


def prompt(n, found=(1.0, 0.0, 1.0, 1.0)):
    return [(AT_ONCE, found)] * n


@given(rounds=st.lists(losses, max_size=30))
def test_least_discounted_loss_leads_and_the_first_of_several(rounds):
    lead, totals = fresh(), [0.0] * 4
    for found in rounds:
        judge(lead, [(AT_ONCE, found)])
        totals = [0.9 * total + loss for total, loss in zip(totals, found, strict=True)]
        totals[FOR_LATE] = totals[0]
        assert lead.leader == totals.index(min(totals))


def test_new_candidate_starts_as_good_as_the_first():
    lead = judge(fresh(), [(LATE, (0.0, 0.0, 0.0, 1.0)), *[(LATE, (1.0, 1.0, 0.0, 1.0))] * 50])
    losses = judge(lead, [(AT_ONCE, (1.0,) * 4)] * 999).get_state()["losses"]
    assert losses[FOR_PROMPT] == losses[0]


@given(found=st.lists(losses, min_size=1, max_size=30))
def test_late_labels_weight_candidates_by_regret(found):
    lead, regrets = fresh(), [0.0] * 4
    for each in found:
        judge(lead, [(LATE, each)], given=0.5)
        for k in IN_USE:
            regrets[k] = max(regrets[k] + 0.5 - each[k], 0.0)
    total = sum(regrets)
    weights = [regret / total for regret in regrets] if total else weights_of_one(lead.leader)
    assert weights_of(lead) == pytest.approx(weights)
    assert weights_of(lead)[lead.leader] == max(weights_of(lead))


def weights_of(lead):
    return memoryview(lead.weights)[: lead.n].tolist()


def weights_of_one(leader):
    return [float(k == leader) for k in range(4)]


def test_regret_is_forgotten_where_labels_come_at_once():
    lead = judge(fresh(), [(LATE, (1.0, 0.0, 1.0, 0.5))] * 5, given=1.0)
    assert weights_of(lead) == pytest.approx([0.0, 2 / 3, 0.0, 1 / 3])
    judge(lead, prompt(1000, (0.0, 1.0, 1.0, 1.0)), given=1.0)
    assert weights_of(lead) == weights_of_one(0)


def test_label_is_prompt_if_no_mixer_depends_on_lateness():
    assert judge(Lead(1, 0, 0, 8), [(LATE, [1.0])]).is_prompt()


@given(st.lists(st.tuples(st.floats(0, 8), st.floats(0, 8)), max_size=30))
def test_shares_of_two_mixers_follow_discounted_log_loss(found):
    lead, (one, other) = Lead(2, 0, 0, 8, averages=True), (0.0, 0.0)
    lead.discount = 0.9
    for pair in found:
        for candidate, log_loss in enumerate(pair):
            lead.evaluate(candidate, 1.0, log_loss)
        lead.choose()
        one, other = 0.9 * one + pair[0], 0.9 * other + pair[1]
    share = 1 / (1 + math.exp(one - other))
    assert weights_of(lead) == pytest.approx([share, 1 - share])
    again = Lead(2, 0, 0, 8, averages=True)
    again.set_state(lead.get_state())
    assert weights_of(again) == weights_of(lead)


def test_late_learners_start_as_good_as_the_first():
    lead = judge(fresh(), prompt(3))
    lead.set_n_experts(2)
    assert lead.get_state()["losses"][4] == lead.get_state()["losses"][0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"leader": 4},
        {"leader": -1},
        {"losses": [0.0] * 3},
        {"losses": [-1.0] * 4},
        {"regrets": [-1.0] * 4},
        {"prompt_labels": 1001},
    ],
)
def test_invalid_state_of_the_lead_is_rejected(wrong):
    with pytest.raises(ValueError, match=r"candidate|count|values|number"):
        fresh().set_state(fresh().get_state() | wrong)
