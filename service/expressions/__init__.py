"""Expressions over the fields of records, as in `events.derive`."""
