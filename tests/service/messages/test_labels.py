import pytest

from service.messages.labels import BOOLEANS, UnknownLabelError, Vocabulary


@pytest.mark.parametrize(
    ("label", "truth"),
    [(True, True), (False, False), (1, True), (0, False), (-1, False), (1.0, True), (-1.0, False)],
)
@pytest.mark.parametrize("classes", [(), ("ham", "spam")])
def test_binary_stream_may_use_booleans_signs_and_bits(label, truth, classes):
    assert Vocabulary(classes).truth(label) is truth


def test_first_of_two_class_names_is_the_negative_one():
    vocabulary = Vocabulary(("ham", "spam"))
    assert vocabulary.truth("ham") is False
    assert vocabulary.truth("spam") is True


@pytest.mark.parametrize(
    ("classes", "labels"),
    [
        (("1", "0"), {"1": False, "0": True, 1: False, 0: True}),
        (("1", "2"), {"1": False, "2": True, 1: False, 2: True}),
        (("2", "1"), {2: False, 1: True}),
        (("true", "false"), {True: False, False: True, "true": False}),
        (("5", "ham"), {5: False, "ham": True}),
    ],
)
def test_numbers_and_booleans_used_as_names_denote_classes(classes, labels):
    vocabulary = Vocabulary(classes)
    assert {label: vocabulary.truth(label) for label in labels} == labels
    assert {vocabulary.spelling(label, vocabulary.first_spelling()) for label in labels} == {classes}


@pytest.mark.parametrize(
    ("classes", "label"), [(("1", "2"), 0), (("1", "2"), -1), (("1", "0"), -1), (("5", "ham"), 1)]
)
def test_number_that_names_no_class_is_rejected(classes, label):
    with pytest.raises(UnknownLabelError, match=f"unknown label .*, expected '{classes[0]}'"):
        Vocabulary(classes).truth(label)


@pytest.mark.parametrize("classes", [("0", "1"), ("-1", "1"), ("false", "true")])
def test_class_names_spelled_like_label_values_change_nothing(classes):
    vocabulary = Vocabulary(classes)
    assert [vocabulary.truth(label) for label in (False, 0, -1, True, 1)] == [False, False, False, True, True]


@pytest.mark.parametrize("classes", [("ham", "spam"), ("0", "1")])
def test_outputs_keep_class_names_whatever_label_values_come(classes):
    vocabulary = Vocabulary(classes)
    assert {vocabulary.spelling(label, vocabulary.first_spelling()) for label in vocabulary.values} == {
        classes
    }


@pytest.mark.parametrize("label", ["spam", "true", "", 2, 0.5, -2, 1e99])
def test_other_label_values_are_unknown(label):
    with pytest.raises(UnknownLabelError, match="expected true/false"):
        Vocabulary().truth(label)


@pytest.mark.parametrize("label", [True, 1, 0, "d"])
def test_multiclass_labels_are_class_names_only(label):
    with pytest.raises(UnknownLabelError, match="'a', 'b', 'c'"):
        Vocabulary(("a", "b", "c")).truth(label)
    assert Vocabulary(("a", "b", "c")).truth("b") == "b"


@pytest.mark.parametrize(
    ("labels", "spelling"),
    [
        ([], (False, True)),
        ([True], (False, True)),
        ([1], (-1, 1)),
        ([1, 0], (0, 1)),
        ([0, 1], (0, 1)),
        ([-1, 1], (-1, 1)),
        ([0, True], (False, True)),
    ],
)
def test_outputs_spell_classes_as_the_stream_spells_labels(labels, spelling):
    vocabulary, current = Vocabulary(), BOOLEANS
    for label in labels:
        current = vocabulary.spelling(label, current)
    assert [vocabulary.spell(truth, current) for truth in (False, True)] == list(spelling)


def test_class_is_shown_by_its_name_or_true_or_false():
    assert [Vocabulary().name(truth) for truth in (False, True)] == ["false", "true"]
    assert [Vocabulary(("ham", "spam")).name(truth) for truth in (False, True)] == ["ham", "spam"]
    assert Vocabulary(("a", "b", "c")).name("c") == "c"
