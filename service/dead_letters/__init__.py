"""Dead letters that are given another chance."""
