"""Several processes as one service."""
