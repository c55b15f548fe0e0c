"""Counts of labelled predictions, in bounded memory."""
