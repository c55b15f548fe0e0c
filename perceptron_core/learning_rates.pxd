# The C types of learning_rates.py, for compiled code.
cpdef double rate_at(rate, long long n_updates) except? -1
