"""Turn the bytes of a fetch through kafka-python into `RecordBatch`es, in compiled code."""
