"""Decisions: which events are acted on, at thresholds that are found in the labelled predictions before."""
