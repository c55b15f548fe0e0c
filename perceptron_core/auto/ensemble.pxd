# The C types of ensemble.py, for compiled code.
cimport cython

from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core cimport c_memory as memory
from perceptron_core.mixing.mixer cimport LabelHistory
from perceptron_core.mixing.lead cimport Lead
from perceptron_core.mixing.learners cimport Learners
from perceptron_core.mixing.mixer cimport Mixer
from perceptron_core.weights.example cimport Column, Example

cdef double CLIP
cdef int GRAMS, N_MAPS, WORDS, _MOST_CACHED


cdef class Ensemble(Learners):
    cdef readonly list names
    cdef readonly list mixers
    cdef readonly Py_ssize_t n_blind
    cdef readonly Py_ssize_t n_late
    cdef LabelHistory history
    cdef double information
    cdef readonly list favourites
    cdef double[::1] factors
    cdef double[::1] scores
    cdef double[::1] inputs
    cdef double[::1] all_inputs
    cdef double[::1] answers
    cdef double[::1] mistakes
    cdef double[::1] judged

    @cython.locals(last=Py_ssize_t)
    cpdef join(self, str name, LinearRule rule, int map_number, double factor, double weight, bint is_favourite)

    @cython.locals(k=Py_ssize_t, rule=LinearRule, x=Example)
    cdef score(self, list examples, unsigned char[::1] speaks, Lead lead)

    @cython.locals(k=Py_ssize_t, mixer=Mixer, favourite=int, is_silent=bint)
    cdef _answer(self, unsigned char[::1] speaks, Lead lead)

    @cython.locals(k=Py_ssize_t, total=double)
    cdef double given(self, Lead lead) except? -1

    @cython.locals(number=Py_ssize_t, x=Example, column=Column)
    cdef prefetch(self, list examples, Py_ssize_t n_ensembles)

    @cython.locals(k=Py_ssize_t)
    cdef say(self, double[::1] said, Py_ssize_t start, Py_ssize_t n_answers)

    @cython.locals(k=Py_ssize_t)
    cdef recall(self, const double[::1] said, Py_ssize_t start, Py_ssize_t n, Py_ssize_t n_answers)

    cpdef Py_ssize_t n_told(self) except -1

    @cython.locals(k=Py_ssize_t)
    cdef say_history(self, double[::1] said, Py_ssize_t start)

    @cython.locals(k=Py_ssize_t)
    cdef recall_history(self, const double[::1] said, Py_ssize_t start)

    @cython.locals(
        k=Py_ssize_t, rule=LinearRule, mixer=Mixer, inputs=double[::1], discount=double, is_wrong=bint
    )
    cdef learn(
        self, list examples, unsigned char[::1] speaks, bint target, double w, Lead lead, bint recalled
    )
