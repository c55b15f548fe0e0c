# The C types of tokenizer.py, for compiled code.
cimport cython
from libc.stdint cimport uint32_t
from perceptron_core cimport c_memory as memory

cdef int _BLANK, SEPARATOR, PART_OF_A_WORD, SPACELESS


@cython.final
cdef class Tokenizer:
    cdef readonly int[::1] starts
    cdef readonly Py_ssize_t count
    cdef readonly int gap

    cdef bint _words, _scripts, _lowercase
    cdef Py_ssize_t _fewest
    cdef bytearray _kind_of, _joined, _copy
    cdef Py_ssize_t _n_in_a_row

    @cython.locals(capacity=Py_ssize_t, starts=int[::1], joined=bytearray, copy=bytearray)
    cdef int _reserve(self, Py_ssize_t size) except -1

    @cython.locals(size=Py_ssize_t)
    cpdef object cut(self, text)

    @cython.locals(starts=int[::1], at=Py_ssize_t)
    cdef int _count_bytes(self, Py_ssize_t size) except -1

    @cython.locals(number=Py_ssize_t, start=Py_ssize_t)
    cdef bytes _cut_into_objects(self, text)

    @cython.locals(starts=int[::1], count=Py_ssize_t, at=Py_ssize_t)
    cdef int _cut_into_characters(self, const unsigned char* data, Py_ssize_t size) except -1

    @cython.locals(
        starts=int[::1], joined="unsigned char*", kind_of="unsigned char*", count=Py_ssize_t, end=Py_ssize_t,
        at=Py_ssize_t, inside=bint, point=uint32_t, width=int, kind=int, byte=Py_ssize_t,
    )
    cdef int _cut_into_words(self, const unsigned char* data, Py_ssize_t size) except -1

    @cython.locals(size=Py_ssize_t, data=bytes)
    cdef object _cut_any_script(self, text)

    @cython.locals(
        starts=int[::1], joined="unsigned char*", kind_of="unsigned char*", count=Py_ssize_t, end=Py_ssize_t,
        at=Py_ssize_t, last=Py_ssize_t, run=Py_ssize_t, before=int, point=uint32_t, width=int, kind=int,
        byte=Py_ssize_t,
    )
    cdef int _cut_into_tokens(self, const unsigned char* data, Py_ssize_t size) except -1

    @cython.locals(kind=int)
    cdef int _classify(self, uint32_t point) except -1


@cython.locals(byte=Py_ssize_t, point=uint32_t)
cdef uint32_t _code_point(const unsigned char* data, Py_ssize_t at, int width) noexcept
