# What compiled code knows of output_batch.pyx.
from service.batches.message_batch cimport MessageBatch


cdef class OutputBatch(MessageBatch):
    pass
