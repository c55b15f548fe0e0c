# The C types of coin_betting.py, for compiled code.
cimport cython

from perceptron_core cimport c_memory as memory
from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.elementary cimport logistic
from perceptron_core.weights.example cimport Column, Example

cdef double _MAX_AMOUNT


cdef class CoinBettingRule(LinearRule):
    cdef public Column bound_column
    cdef public Column size_column
    cdef public Column reward_column
    cdef public Column gradient_column
    cdef public double bias_bound
    cdef public double bias_size
    cdef public double bias_reward
    cdef public double bias_gradient

    @cython.locals(slope=double)
    cdef double learn_at(self, Example x, int sign, double w, double a) except? -1

    @cython.locals(
        k=Py_ssize_t, slot=int, value=double, gradient=double, bound=double, size=double, reward=double, total=double,
        slots="int*", values="double*", bounds=Column, sizes=Column, rewards=Column, gradients=Column, weights=Column
    )
    cdef void pay_out(self, Example x, double slope, double w) noexcept

    cdef void place_bet(self, Py_ssize_t slot) noexcept

    cdef void pay_out_bias(self, double gradient, double bound) noexcept

    cdef void place_bias(self) noexcept

    @cython.locals(slot=Py_ssize_t)
    cpdef place_all(self)


@cython.locals(amount=double)
cdef double bet(double bound, double size, double reward, double gradient) noexcept
