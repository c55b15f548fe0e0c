from perceptron_core.weights.named_values import NamedValues
from service.partition.example import Example, fields_of
from service.partition.label_join import LabelJoin


def test_features_are_kept_alike_in_each_form():
    x = {"b": 0.25, "a": -1.0}
    examples = [Example(kept, True, 1.5, 7, message_bytes=40) for kept in (x, NamedValues([*x], x.values()))]
    assert [[*example.x.items()] for example in examples] == [[*x.items()]] * 2
    assert [example.compact() for example in examples] == [examples[0].size_bytes] * 2
    assert fields_of(examples[0]) == fields_of(examples[1]) == (x, True, 1.5, 7, None, 0.0, 40, b"")


def test_features_of_a_large_event_are_packed_alike_in_each_form():
    x = {f"f{n}": float(n) for n in range(100)}
    examples = [
        Example(kept, True, 1.5, 7, message_bytes=5000) for kept in (x, NamedValues([*x], x.values()))
    ]
    assert len({example.compact() for example in examples}) == 1
    assert [type(example.kept) for example in examples] == [bytes] * 2
    assert fields_of(examples[0]) == fields_of(examples[1])
    assert [example.x for example in examples] == [x] * 2


def test_the_state_of_a_join_holds_dictionaries():
    join = LabelJoin(10, 10)
    join.keep("e", Example(NamedValues(["a"], [1.0]), False, -1.0, 5))
    ((_, kept, *_),) = join.state()["examples"]
    assert type(kept) is dict
