# The C types of derived_columns.py, for compiled code.
cimport cython

from perceptron_core.binary.averaged cimport AveragedRule
from perceptron_core.binary.coin_betting cimport CoinBettingRule
from perceptron_core.multiclass.averaged cimport AveragedMulticlassRule
from perceptron_core.multiclass.normalized_adagrad cimport MulticlassNormalizedAdaGradRule
from perceptron_core.sharing.columns cimport SharedColumn
from perceptron_core.weights.example cimport Column

cdef double _SMALLEST_SCALE
cdef double _LARGEST


cdef class MeanWeights(SharedColumn):
    cdef readonly AveragedRule rule

    cdef double get(self, int slot) except? -1
    cdef int put(self, int slot, double value) except -1


cdef class MeanBias(SharedColumn):
    cdef readonly AveragedRule rule

    cdef double get(self, int slot) except? -1
    cdef int put(self, int slot, double value) except -1


cdef class MeanOfClass(SharedColumn):
    cdef readonly AveragedMulticlassRule rule
    cdef readonly Column late

    @cython.locals(at=int)
    cdef double get(self, int slot) except? -1

    @cython.locals(at=int)
    cdef int put(self, int slot, double value) except -1


cdef class ScaledWeights(SharedColumn):
    cdef readonly Column scales

    cdef double get(self, int slot) except? -1
    cdef int put(self, int slot, double value) except -1


cdef class ScalesOfClasses(SharedColumn):
    cdef readonly MulticlassNormalizedAdaGradRule rule

    @cython.locals(old=double, number=Py_ssize_t, weights=Column)
    cdef int put(self, int slot, double value) except -1


cdef class Gradients(SharedColumn):
    cdef readonly CoinBettingRule rule

    cdef double get(self, int slot) except? -1
    cdef int put(self, int slot, double value) except -1


cdef class BiasGradient(SharedColumn):
    cdef readonly CoinBettingRule rule

    cdef double get(self, int slot) except? -1
    cdef int put(self, int slot, double value) except -1


cdef double scaled(double weight, double scale) noexcept


cdef double late_of(AveragedRule rule, double current, double mean) except? -1
