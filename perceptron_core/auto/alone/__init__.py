"""Parts of `AutoClassifier` that are classifiers of their own."""
