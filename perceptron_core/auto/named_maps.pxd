# The C types of named_maps.py, for compiled code.
from perceptron_core.auto.feature_maps cimport FeatureMaps

cdef Py_ssize_t MOST_CHARACTERS


cdef class NamedMaps(FeatureMaps):
    pass
