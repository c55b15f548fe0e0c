# What compiled code knows of answer_record.pyx.

from service.stream.batches cimport OutputBatch

cpdef write_answer(
    OutputBatch outputs, topic, str event_id, tuple form, double number, probability, long long updates,
    long long event_time_ms, tuple headers,
)
