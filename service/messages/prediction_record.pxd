# What compiled code knows of prediction_record.pyx.

cpdef prediction_record(topic, str event_id, tuple form, bytes numbers, updates, event_time_ms, headers)
