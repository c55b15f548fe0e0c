# The C types of drift.py, for compiled code.
cimport cython

from perceptron_core.elementary cimport log


@cython.final
cdef class Detector:
    cdef double _units_between
    cdef list _sizes
    cdef list _mistakes
    cdef Py_ssize_t _n
    cdef Py_ssize_t _n_wrong

    @cython.locals(last=Py_ssize_t)
    cdef _add(self, Py_ssize_t n_wrong)

    @cython.locals(
        k=Py_ssize_t, cuts=Py_ssize_t, place=Py_ssize_t, total=double, total_wrong=double, share=double,
        spread=double, most_confident=double, n=double, n_wrong=double, distance=double, n_before=double,
        after=double, before=double, sizes=list, wrong=list,
    )
    cdef _cut(self)


@cython.locals(found=double)
cdef double _divergence(double q, double p) except? -1
