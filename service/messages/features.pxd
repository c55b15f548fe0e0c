# The C types of features.py, for compiled code.
cimport cython

from perceptron_core.text.hasher cimport TextHasher
from perceptron_core.elementary cimport sqrt
from perceptron_core.weights.feature_array cimport FeatureArray
from perceptron_core.weights.values cimport IndexedValues, NamedValues, indexed_values


cdef Py_ssize_t _MAX_JOINED
cdef double _MAX_VALUE


@cython.final
cdef class HashedNames:
    cdef readonly object mask
    cdef const int[::1] _positions
    cdef const int[::1] _indices
    cdef object _set
    cdef Py_ssize_t _n

    @cython.locals(
        made=IndexedValues, vector=NamedValues, n=Py_ssize_t, k=Py_ssize_t, j=Py_ssize_t, at=Py_ssize_t
    )
    cpdef IndexedValues joined(self, dict first, tuple vectors, dict last, bint is_scaled)


@cython.final
cdef class VectorNames:
    cdef readonly tuple names
    cdef object _set
    cdef dict _joined
    cdef public HashedNames hashed

    cpdef bint are_new(self, dict features) except -1

    @cython.locals(first=tuple, joined=tuple)
    cpdef tuple followed_by(self, dict features)


cdef class VectorFeatures(FeatureArray):
    cdef readonly dict first
    cdef readonly VectorNames names
    cdef readonly tuple vectors

    @cython.locals(made=dict, vector=NamedValues)
    cpdef dict as_dict(self)


@cython.locals(made=NamedValues, k=Py_ssize_t, number=double)
cpdef NamedValues listed_values(tuple names, list values)


@cython.locals(made=NamedValues, other=NamedValues, n=Py_ssize_t, k=Py_ssize_t)
cpdef NamedValues joined_values(tuple names, dict first, tuple others, dict last, bint is_scaled)


@cython.locals(squares=double, norm=double, k=Py_ssize_t)
cdef void _scale_numbers(double* numbers, Py_ssize_t n) noexcept


cdef class FeatureExtractor:
    cdef TextHasher _hasher
    cdef object _of_text
    cdef bint _l2
    cdef object _mask
    cdef bint _has_tenants
    cdef object _key

    @cython.locals(x=dict)
    cpdef dict extract(self, features, text, tenant=*)

    cpdef dict as_numbers(self, features, others)

    @cython.locals(hasher=TextHasher)
    cpdef extract_values(self, features, text, tenant=*)

    @cython.locals(first=dict, last=dict, names=tuple, shared=VectorNames)
    cdef _joined(self, VectorFeatures features, str text)

    @cython.locals(x=dict)
    cdef dict _hashed(self, dict named)

    cdef dict _of_tenant(self, dict x, tenant)

    @cython.locals(own=dict)
    cdef dict _hashed_of_tenant(self, dict x, tenant)


cdef class RawFeatures:
    cdef bint _takes_text

    cpdef dict as_numbers(self, features, others)

    @cython.locals(x=dict)
    cpdef dict extract(self, features, text, tenant=*)


cdef _index_of(str name, mask)


cdef bint _are_doubles(dict features)


@cython.locals(x=dict)
cdef dict _as_numbers(dict features, others)


@cython.locals(x=dict, name=str)
cdef dict _reserved(dict named)


cdef dict _sum(dict x, dict more)


@cython.locals(squares=double, norm=double)
cdef _scale_to_unit_length(dict x)
