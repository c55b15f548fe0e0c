"""Settings: what there is, where values come from, what must not be shown."""
