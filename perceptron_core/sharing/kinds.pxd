# The C types of kinds.py, for compiled code.
cdef double _LARGEST_PRECISION
cdef double _OVERLAP_OF_FEATURES


cdef class Kind:
    cdef readonly int weighed_by

    cpdef double shift(self, double value, double base) noexcept
    cpdef bint is_changed(self, double value, double base) noexcept
    cpdef double absent(self, double value) noexcept
    cpdef double total(self, double total, double shift) noexcept
    cpdef double mixed(self, double total, double weighted, double weight, double precision, double kappa) noexcept
    cpdef double rebased(self, double base, double mixed) noexcept
    cpdef double moved(self, double value, double old, double new, double own) noexcept


cdef class Amount(Kind):
    cpdef double rebased(self, double base, double mixed) noexcept
    cpdef double moved(self, double value, double old, double new, double own) noexcept


cdef class Mean(Kind):
    cpdef double mixed(self, double total, double weighted, double weight, double precision, double kappa) noexcept


cdef class ConfidentMean(Kind):
    cpdef double mixed(self, double total, double weighted, double weight, double precision, double kappa) noexcept


cdef class Precision(Kind):
    cpdef double shift(self, double value, double base) noexcept
    cpdef bint is_changed(self, double value, double base) noexcept
    cpdef double rebased(self, double base, double mixed) noexcept
    cpdef double moved(self, double value, double old, double new, double own) noexcept


cdef class Maximum(Kind):
    cpdef double shift(self, double value, double base) noexcept
    cpdef bint is_changed(self, double value, double base) noexcept
    cpdef double total(self, double total, double shift) noexcept
    cpdef double rebased(self, double base, double mixed) noexcept
    cpdef double moved(self, double value, double old, double new, double own) noexcept


cdef class Average(Mean):
    cpdef double shift(self, double value, double base) noexcept
    cpdef bint is_changed(self, double value, double base) noexcept
    cpdef double absent(self, double value) noexcept
    cpdef double mixed(self, double total, double weighted, double weight, double precision, double kappa) noexcept
    cpdef double rebased(self, double base, double mixed) noexcept
    cpdef double moved(self, double value, double old, double new, double own) noexcept


cpdef double pooled(double total, double weighted, double weight, double prior, double kappa) noexcept
cpdef double kappa_of(double n_features) noexcept
cdef double _excess(double variance) noexcept
