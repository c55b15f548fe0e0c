"""Learners over arrays: CSR rows, batches of texts, hashed features."""
