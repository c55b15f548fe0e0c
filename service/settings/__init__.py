"""Settings: their fields, their sources, and which values are secret."""
