"""What the service shows of itself: metrics, health, models at work, curves."""
