# What compiled code knows of score_numbers.pyx.
from cpython cimport array

cpdef list count_numbers(array.array scores)
