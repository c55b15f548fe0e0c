# The C types of kinds.py, for compiled code.
cdef extern from "math.h":
    cpdef double floor(double x)

cdef double _LARGEST_PRECISION


cdef class Kind:
    cdef readonly int weighed_by
    cdef readonly bint keeps_whole
    cdef readonly bint is_signed
    cdef readonly double lowest

    cpdef double shift(self, double value, double base) noexcept
    cpdef bint is_changed(self, double value, double base) noexcept
    cpdef double absent(self, double value) noexcept
    cpdef double total(self, double total, double shift) noexcept
    cpdef double mixed(self, double total, double weighted, double weight, double precision, double gain) noexcept
    cpdef double rebased(self, double base, double mixed) noexcept
    cpdef double moved(self, double value, double old, double new, double own) noexcept


cdef class CountMean(Kind):
    cpdef double mixed(self, double total, double weighted, double weight, double precision, double gain) noexcept


cdef class Mean(CountMean):
    cpdef double mixed(self, double total, double weighted, double weight, double precision, double gain) noexcept


cdef class ConfidentMean(CountMean):
    cdef readonly double kappa

    cpdef double mixed(self, double total, double weighted, double weight, double precision, double gain) noexcept


cdef class Precision(Kind):
    cpdef double shift(self, double value, double base) noexcept
    cpdef bint is_changed(self, double value, double base) noexcept
    cpdef double rebased(self, double base, double mixed) noexcept
    cpdef double moved(self, double value, double old, double new, double own) noexcept


cdef class MeanPrecision(Precision):
    cpdef double mixed(self, double total, double weighted, double weight, double precision, double gain) noexcept


cdef class Maximum(Kind):
    cpdef double shift(self, double value, double base) noexcept
    cpdef bint is_changed(self, double value, double base) noexcept
    cpdef double total(self, double total, double shift) noexcept
    cpdef double rebased(self, double base, double mixed) noexcept
    cpdef double moved(self, double value, double old, double new, double own) noexcept


cdef class Average(CountMean):
    cpdef double shift(self, double value, double base) noexcept
    cpdef bint is_changed(self, double value, double base) noexcept
    cpdef double absent(self, double value) noexcept
    cpdef double rebased(self, double base, double mixed) noexcept
    cpdef double moved(self, double value, double old, double new, double own) noexcept


cpdef double pooled(double total, double weighted, double weight, double theta) noexcept


cpdef double nearest_whole(double number) noexcept


cdef double _excess(double variance) noexcept
