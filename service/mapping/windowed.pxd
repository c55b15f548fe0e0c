# The C types of windowed.py, for compiled code.
cimport cython


@cython.final
cdef class Field:
    cdef readonly str name
    cdef readonly object find
    cdef readonly bint is_counted
    cdef readonly str key


@cython.final
cdef class WindowedFields:
    cdef object _is_missing
    cdef public object uses
    cdef list _windows
    cdef bint _waits_for_records

    @cython.locals(inputs=list, window=tuple, key=Field, text=str, numbers=list, hashes=list, field=Field)
    cpdef tuple read(self, dict found, document, record)

    @cython.locals(fields=dict)
    cdef _value(self, Field field, dict found, document)

    cdef _number(self, Field field, dict found, document)

    cdef _compare(self, str text, str by, record)

    cdef _hash(self, Field field, dict found, document)


cpdef str key_text(value, str name)


cpdef hash_of(str text)
