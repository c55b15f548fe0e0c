"""The benchmark on CoNLL-2000: how chunks are counted, and the figures it must reach."""

import pytest

from benchmarks.conll2000 import Chunk, chunk_f1, chunks, read_sentences, token_features
from perceptron_core import StructuredPerceptron
from tests.support.reference_streams import reference_file


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("", []),
        ("O O", []),
        ("B-NP I-NP O", [(0, 2, "NP")]),
        ("B-NP B-NP", [(0, 1, "NP"), (1, 2, "NP")]),
        ("B-NP I-VP", [(0, 1, "NP"), (1, 2, "VP")]),  # as conlleval: an I- of another kind begins a chunk
        ("I-NP I-NP", [(0, 2, "NP")]),
        ("O I-NP O I-NP", [(1, 2, "NP"), (3, 4, "NP")]),
        ("B-PP B-NP I-NP I-NP B-VP", [(0, 1, "PP"), (1, 4, "NP"), (4, 5, "VP")]),
    ],
)
def test_chunks_are_those_of_conlleval(tags, expected):
    assert list(chunks(tags.split())) == [Chunk(*chunk) for chunk in expected]


def test_f1_counts_chunks_with_right_ends_and_kind():
    truth = [["B-NP", "I-NP", "O", "B-VP"], ["B-PP", "B-NP"]]
    prediction = [["B-NP", "O", "O", "B-VP"], ["B-NP", "B-NP"]]  # 4 found, 4 expected, 2 right
    assert chunk_f1(truth, prediction) == 50.0
    assert chunk_f1(truth, truth) == 100.0
    assert chunk_f1([["O"]], [["O"]]) == 100.0
    assert chunk_f1([["O"]], [["B-NP"]]) == 0.0


def test_every_token_has_the_same_number_of_features_wherever_it_stands():
    lengths = {len(token) for token in token_features(["He", "ran", "."], ["PRP", "VBD", "."])}
    assert len(lengths) == 1


@pytest.mark.slow
def test_one_epoch_reaches_the_reference():
    train, test = (
        list(read_sentences(reference_file(f"conll2000/{part}.txt"))) for part in ("train", "test")
    )
    assert (len(train), len(test)) == (8936, 2012)
    model = StructuredPerceptron()
    for sentence in train:
        model.learn_one(sentence.features, sentence.chunk_tags)
    found = [model.predict_one(sentence.features) for sentence in test]
    assert chunk_f1([sentence.chunk_tags for sentence in test], found) >= 92.5
