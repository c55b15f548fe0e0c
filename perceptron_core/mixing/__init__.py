"""Mixing the answers of several classifiers, by what their mistakes say of them."""
