"""Text to features: tokens, n-grams, hashed indices. Compiled."""
