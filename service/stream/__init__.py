"""Streams that share one protocol: `memory://`, `sqlite:///…`, `kafka://…`."""
