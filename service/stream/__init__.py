"""Streams behind one protocol: `memory://`, `sqlite:///…`, `kafka://…`."""
