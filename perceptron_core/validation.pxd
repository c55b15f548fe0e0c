# The C types of validation.py, for compiled code.
cpdef int sign_of(label) except 0
cpdef double example_weight(w) except? -1
cpdef double as_double(value) except? -1
cpdef double hinge(double signed_score) noexcept


cpdef double rate_at(rate, long long n_updates) except? -1
