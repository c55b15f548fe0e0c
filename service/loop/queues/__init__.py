"""The queues of polled records, and the size of the batches that are cut from them."""
