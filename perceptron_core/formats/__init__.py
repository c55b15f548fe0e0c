"""Models in other forms: bytes, and scikit-learn's interface."""
