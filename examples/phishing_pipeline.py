"""A River pipeline that ends in a learner of `perceptron_core`, evaluated the way River does it.

python examples/phishing_pipeline.py
"""

from river import datasets, evaluate, metrics, preprocessing

from perceptron_core import AROW, AveragedPerceptron, PassiveAggressive, Perceptron

LEARNERS = (Perceptron, AveragedPerceptron, PassiveAggressive, AROW)


def main() -> None:
    """Print each learner's prequential accuracy on River's Phishing data."""
    for learner in LEARNERS:
        model = preprocessing.StandardScaler() | learner()
        accuracy = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
        print(f"{learner.__name__:<20} {accuracy}")


if __name__ == "__main__":
    main()
