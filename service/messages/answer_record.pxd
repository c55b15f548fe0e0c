# What compiled code knows of answer_record.pyx.

cpdef answer_record(topic, str event_id, tuple form, bytes numbers, updates, event_time_ms, headers)
