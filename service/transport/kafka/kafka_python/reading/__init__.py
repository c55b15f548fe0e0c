"""Records through kafka-python. In: the bytes of a fetch. Out: `RecordBatch`es, in compiled code."""
