"""Prove or refute from the topics alone that everything was done exactly once."""
