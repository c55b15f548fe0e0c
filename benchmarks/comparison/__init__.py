"""What `benchmarks/auto.py` is made of."""
