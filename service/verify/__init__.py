"""Verify from the topics alone that every record was processed exactly once."""
