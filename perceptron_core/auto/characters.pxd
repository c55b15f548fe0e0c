# The C types of characters.py, for compiled code.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.elementary cimport exp, log
from perceptron_core.linear.linear_rule cimport ClassVote
from perceptron_core.text.hasher cimport TextHasher
from perceptron_core.weights.example cimport Example

cdef double CLIP, _SMOOTHING, _FULL_GRAMS, _MAX_PRODUCT, _MIN_PRODUCT
cdef Py_ssize_t _MAX_CHARACTERS


cdef class Characters:
    cdef readonly int bits
    cdef readonly Example x
    cdef readonly bint has_text
    cdef readonly Py_ssize_t n_classes
    cdef Py_ssize_t _n_known, _shortest, _stride, _n, _n_known_rows
    cdef int _mask
    cdef double[::1] _counts, _events, _totals, _products, _scores
    cdef unsigned char[::1] _marks
    cdef int[::1] _grams, _known_rows
    cdef TextHasher _hasher
    cdef TextHasher _hasher_of_ascii

    cdef clear(self)

    @cython.locals(
        k=Py_ssize_t, m=Py_ssize_t, end=Py_ssize_t, gram=int, grams=int[::1], rows=int[::1], indices=int[::1],
        marks="unsigned char[::1]", hasher=TextHasher, is_ascii=bint
    )
    cdef add(self, str text, int tag)

    @cython.locals(k=Py_ssize_t, best=Py_ssize_t, rest=double, others=double, log_odds=double, powers=double[::1])
    cdef score(self)

    @cython.locals(
        n=Py_ssize_t, m=Py_ssize_t, k=Py_ssize_t, at=Py_ssize_t, first=Py_ssize_t, product=double,
        share=double, unseen=double, likelihood=double, counts=double[::1], products=double[::1], scores=double[::1]
    )
    cdef _sum_up(self)

    cdef bint _is_known(self, Py_ssize_t gram) noexcept

    cdef void _mark(self, Py_ssize_t gram) noexcept

    @cython.locals(stride=Py_ssize_t, gram=Py_ssize_t, k=Py_ssize_t, counts=double[::1])
    cdef reserve(self, Py_ssize_t n_classes)

    @cython.locals(
        at=Py_ssize_t, n_known=Py_ssize_t, gram=int, marked=int, mark=int, grams=int[::1], counts=double[::1],
        marks="unsigned char[::1]"
    )
    cdef learn(self, Py_ssize_t number, double w)

    @cython.locals(
        n=Py_ssize_t, stride=Py_ssize_t, known=Py_ssize_t, gram=Py_ssize_t, k=Py_ssize_t, grams=int[::1],
        counts=double[::1]
    )
    cpdef get_state(self)

    @cython.locals(
        n=Py_ssize_t, k=Py_ssize_t, at=Py_ssize_t, before=Py_ssize_t, grams="const int[::1]",
        counts="const double[::1]"
    )
    cpdef set_state(self, state, Py_ssize_t max_classes)


cdef class CharacterVote(ClassVote):
    pass
