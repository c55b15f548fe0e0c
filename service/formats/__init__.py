"""Readers of record values: bytes to documents of dictionaries, lists and scalars."""
