# The C types of margin.py, for compiled code.
from perceptron_core.binary.perceptron cimport PerceptronRule


cdef class MarginRule(PerceptronRule):
    cdef public double margin

    cdef bint updates_when_right(self, double signed_distance) noexcept
