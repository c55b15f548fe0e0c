"""Mixtures of the answers of several classifiers, based on their mistakes."""
