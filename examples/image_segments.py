"""Seven classes in two ways: River's one-vs-rest around a binary learner, and a multiclass learner.

python examples/image_segments.py
"""

from river import datasets, evaluate, metrics, multiclass, preprocessing

from perceptron_core import MulticlassAROW, MulticlassPerceptron, Perceptron


def main() -> None:
    """Print the prequential accuracy of each on River's ImageSegments data."""
    models = {
        "one-vs-rest": multiclass.OneVsRestClassifier(Perceptron()),
        "multiclass perceptron": MulticlassPerceptron(),
        "multiclass AROW": MulticlassAROW(),
    }
    for name, learner in models.items():
        model = preprocessing.StandardScaler() | learner
        accuracy = evaluate.progressive_val_score(datasets.ImageSegments(), model, metrics.Accuracy())
        print(f"{name:<22} {accuracy}")


if __name__ == "__main__":
    main()
