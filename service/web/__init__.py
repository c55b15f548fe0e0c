"""The HTTP side: API, live page, metrics, probes."""
