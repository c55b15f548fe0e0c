# The C types of partitioner.py, for compiled code.
cimport cython

cdef unsigned long long _M

cpdef partition_for_key(bytes key, Py_ssize_t partitions)

cdef Py_ssize_t partition_of_key(const unsigned char* key, Py_ssize_t length, Py_ssize_t partitions) noexcept


@cython.locals(
    mask="unsigned long long", h="unsigned long long", k="unsigned long long", whole=Py_ssize_t, start=Py_ssize_t,
)
cdef unsigned long long _murmur2(const unsigned char* data, Py_ssize_t length) noexcept


@cython.locals(number="unsigned long long", at=Py_ssize_t)
cdef unsigned long long _number(const unsigned char* data, Py_ssize_t start, Py_ssize_t end) noexcept
