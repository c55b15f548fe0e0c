# The C types of features.py, for compiled code.
cimport cython

from perceptron_core.text.hasher cimport TextHasher
from perceptron_core.weights.values cimport indexed_values
from perceptron_core.weights.feature_array cimport FeatureArray
from perceptron_core.weights.values cimport NamedValues
from service.messages.vector_features cimport HashedNames, VectorFeatures, VectorNames, joined_values

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
