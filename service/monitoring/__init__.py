"""What the service shows of itself: metrics, health, the models it runs, curves."""
