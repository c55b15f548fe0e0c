"""Mixtures of the predictions of several classifiers, based on their mistakes."""
