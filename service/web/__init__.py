"""The HTTP side: metrics, probes."""
