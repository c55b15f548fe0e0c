import json
import re

import pytest

from perceptron_core.formats.packed import pack, unpack
from service.messages.schema import Prediction
from service.partition.factory import make_processor
from service.partition.forms import check_form
from service.partition.parts.decisions import Decisions
from service.partition.parts.kinds import counts_of
from service.settings.mapping import EventSettings
from tests.service import building
from tests.service.building import Feed, event, label

ACT = {"name": "act", "threshold": 0.5}
COSTS = {"false_positive": 2, "false_negative": 30}


def fed(**given):
    feed = Feed(classes=("ham", "spam"), **given)
    for n in range(20):
        feed(event(f"e{n}", x=1 if n % 2 else -1, label="spam" if n % 2 else "ham"))
    return feed


def decisions(feed):
    (part,) = feed.processor.optional_parts
    return part


@pytest.mark.parametrize("model", ["perceptron", "auto"])
def test_prediction_has_its_decision_and_the_threshold_it_took(model):
    feed = fed(model=model, decisions=[ACT])
    yes, no = (feed.output_of(event(name, x=x)) for name, x in (("a", 1), ("b", -1)))
    assert (yes["decision"], yes["threshold"]) == ("act", 0.5)
    assert no["decision"] is None
    assert "threshold" not in no
    assert Prediction.model_validate_json(json.dumps(no)).decision is None


def test_repeated_event_makes_no_decision():
    day = 86_400
    feed = Feed(decisions=[{"name": "look", "max_rate": "1/day"}], label_timeout_seconds=2 * day)
    assert feed.output_of(event("a"))["decision"] == "look"
    again = feed.output_of(event("a", label=True), at_seconds=day)
    assert (again["truth"], again["decision"]) == (True, None)
    assert feed.output_of(event("b"), at_seconds=day)["decision"] == "look"
    assert decisions(feed).n_decided == 2
    assert not Decisions.is_younger(feed.processor.state())


def test_corrected_label_reverts_the_cost_and_moves_the_event():
    given = {"events": EventSettings(label_on_timeout="ham"), "label_timeout_seconds": 10.0}
    feed = fed(decisions=[ACT], costs=COSTS, **given)
    cost = decisions(feed).cost
    feed(event("late", x=1), at_seconds=1)
    feed(event("clock", x=-1), at_seconds=12)
    assert decisions(feed).cost == cost + COSTS["false_positive"]
    others = decisions(feed).bins[True].n_others
    feed(label("late", "spam"), at_seconds=13)
    assert decisions(feed).cost == cost
    assert decisions(feed).bins[True].n_others == others - 1


def test_decision_without_threshold_has_a_reason():
    feed = Feed(
        decisions=[{"name": "block", "min_precision": 0.95}, {"name": "rare", "max_false_positive_rate": 0.2}]
    )
    (part,) = feed.processor.optional_parts

    def undecided():
        restored = Decisions.of_state(feed.processor.state())
        return {rule.name: restored.results_of(rule)["undecided"] for rule in restored.rules}

    few = "too few labels of {} yet: at least {} more needed"
    assert undecided() == {"block": few.format("the class", 32), "rare": few.format("other classes", 8)}
    for n in range(200):  # the score says nothing
        part.learn(True, 1.0, n % 2 == 0, None)
    best = "no threshold is good enough yet: the best bound is {}, expected {}"
    assert undecided() == {"block": best.format(0.468, 0.95), "rare": best.format(1, 0.2)}
    for _ in range(1900):
        part.learn(True, 1.0, True, None)
    assert re.fullmatch(
        r"no threshold .* is 0\.94\d, expected 0\.95; about [\d,]+ more labels may suffice",
        undecided()["block"],
    )
    while undecided()["block"].startswith("no"):
        part.learn(True, 1.0, True, None)
    assert undecided()["block"] == "a threshold with a bound of 0.95 is good enough: the next search sets it"
    for _ in range(100):
        part.learn(True, 1.0, True, None)
    assert undecided()["block"] is None
    assert Decisions.of_state({}).rules == []


def test_restored_state_continues_to_decide_and_count():
    given = {"classes": ("ham", "spam"), "decisions": [ACT], "costs": COSTS}
    feed = fed(decisions=[ACT], costs=COSTS)
    feed(event("waits", x=1))
    other = make_processor(building.settings(**given))
    other.restore(unpack(pack(feed.processor.state())))
    assert pack(other.state()) == pack(feed.processor.state())
    assert dict(decisions(feed).counts()).items() <= counts_of(feed.processor.state()).items()


def test_costs_alone_make_a_decision():
    feed = fed(model="normalized-adagrad", costs=COSTS)
    assert feed.output_of(event("a", x=1))["decision"] == "positive"
    assert decisions(feed).rules[0].shown == pytest.approx(2 / 32)


def test_several_classes_are_decided_by_the_predicted_ones_score():
    act = {"name": "act", "threshold": 0.1, "class": "b"}
    feed = Feed(classes=("a", "b", "c"), model="multiclass-perceptron", decisions=[act])
    for n in range(30):
        feed(event(f"e{n}", label="abc"[n % 3], **{"abc"[n % 3]: 1}))
    assert [feed.output_of(event(name, **{name: 1}))["decision"] for name in "abc"] == [None, "act", None]


def test_metrics_of_decisions_equal_their_results():
    look = {"name": "look", "max_rate": "1/day"}
    feed = fed(decisions=[{"name": "sure", "min_precision": 0.99}, look, ACT], costs=COSTS)
    for n in range(5):
        feed.output_of(event(f"wrong{n}", x=1, label="ham"))
    part = decisions(feed)
    found = {each.metric: each.value for each in part.metrics()}
    results = {rule.name: part.results_of(rule) for rule in part.rules}
    assert 0 < results["act"]["precision"] < 1
    names = {"decisions": "decided", "decision_labels": "labelled", "decision_precision_ratio": "precision"}
    for metric, name in (names | {"decision_threshold": "threshold"}).items():
        assert found[metric] == {decision: each[name] for decision, each in results.items()}
    assert found["decision_exhausted"] == {"sure": None, "look": results["look"]["exhausted"], "act": None}
    restored = Decisions.of_state(feed.processor.state())
    assert [rule.is_exhausted() for rule in restored.rules] == [None, True, None]
    assert found["cost"] == part.cost_added


def test_decisions_added_later_are_younger_than_the_state():
    feed = fed()
    later = Feed(classes=("ham", "spam"), decisions=[ACT])
    later.processor.restore(unpack(pack(feed.processor.state())))
    assert Decisions.is_younger(later.processor.state())
    assert not Decisions.is_younger(fed(decisions=[ACT]).processor.state())
    assert not Decisions.is_younger(feed.processor.state())


@pytest.mark.parametrize("truth", ["ham", "spam"])
def test_labels_before_the_decisions_take_no_count_below_zero(truth):
    feed = fed(decisions=[ACT])
    for given in ({}, {"decisions": [ACT], "costs": COSTS}):  # set again later
        state, feed = feed.processor.state(), Feed(classes=("ham", "spam"), **given)
        feed.processor.restore(unpack(pack(state)))
    for n in range(20):
        feed(label(f"e{n}", truth))
    assert min(feed.processor.counts().values()) >= 0
    check_form(unpack(pack(feed.processor.state())))
