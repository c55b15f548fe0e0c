# The C types of messages.py, for compiled code.
cdef object _new

cpdef as_record(message)

cdef tuple _headers(message)
