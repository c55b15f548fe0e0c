"""Learners over arrays: CSR rows, texts by the batch, hashed features."""
