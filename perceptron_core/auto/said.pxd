# The C types of said.py, for compiled code.
cimport cython

from perceptron_core.auto.ensemble cimport Ensemble
from perceptron_core.mixing.lead cimport Lead


@cython.locals(
    ensemble=Ensemble,
    numbers=double[::1],
    k=Py_ssize_t,
    n=Py_ssize_t,
    n_said=Py_ssize_t,
    width=Py_ssize_t,
    n_told=Py_ssize_t,
    end=Py_ssize_t,
    n_weights=Py_ssize_t,
)
cpdef bytes said_of(list ensembles, Lead lead, long long n_labels, Py_ssize_t most_bytes)


@cython.locals(
    ensemble=Ensemble, k=Py_ssize_t, n=Py_ssize_t, n_candidates=Py_ssize_t, end=Py_ssize_t, is_told=bint
)
cpdef recall(list ensembles, Lead lead, const double[::1] said)


@cython.locals(is_whole=bint)
cpdef double lateness(const double[::1] said, long long n_labels) except? -1


@cython.locals(n_said=Py_ssize_t, n=Py_ssize_t, n_candidates=Py_ssize_t)
cpdef bint has_history(const double[::1] said) except -1
