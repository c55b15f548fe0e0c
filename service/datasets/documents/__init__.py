"""Formats whose rows are documents: Avro containers, mails, logs."""
