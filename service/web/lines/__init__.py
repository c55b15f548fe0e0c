"""Bodies of several records, a line each (NDJSON)."""
