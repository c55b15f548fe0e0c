"""What `perceptron_core` offers. What it keeps away from is a contract of .importlinter."""

import perceptron_core


def test_all_is_sorted_and_everything_in_it_exists():
    constants_first = sorted(
        perceptron_core.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )
    assert perceptron_core.__all__ == constants_first
    assert all(hasattr(perceptron_core, name) for name in perceptron_core.__all__)
