"""The events lately labelled, and those of them that are nearest to another."""
