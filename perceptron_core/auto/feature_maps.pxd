# The C types of feature_maps.py, for compiled code.
cimport cython

from perceptron_core.auto.characters cimport Characters
from perceptron_core.auto.columns cimport Columns
from perceptron_core.auto.dense_maps cimport DenseMaps
from perceptron_core.auto.token_map cimport TokenMap
from perceptron_core.elementary cimport asinh
from perceptron_core.text.hasher cimport TextHasher
from perceptron_core.text.murmur3 cimport Murmur
from perceptron_core.trees.categories cimport Categories
from perceptron_core.trees.neighbors cimport Window
from perceptron_core.trees.refitted cimport RefittedTrees
from perceptron_core.trees.trees cimport Trees
from perceptron_core.validation cimport as_double

cdef int WORDS, GRAMS, CHARACTERS, NEIGHBORS, BOOSTED, LINEAR, PAIRED, FOREST
cdef int N_MAPS, N_FOURIER, N_BINS, N_PARTS, _LAST_PLACE
cdef double MAX_MAGNITUDE
cdef Py_ssize_t _LONGEST_VALUE, MAX_CHARACTERS


cdef class FeatureMaps:
    cdef readonly int bits
    cdef readonly Columns columns
    cdef readonly DenseMaps dense
    cdef readonly Categories categories
    cdef readonly Trees trees
    cdef readonly Characters characters
    cdef readonly Window window
    cdef readonly RefittedTrees boosted
    cdef readonly TokenMap words
    cdef readonly TokenMap grams
    cdef readonly list examples
    cdef int[::1] sizes
    cdef unsigned char[::1] active, _bins
    cdef TextHasher _word_hasher
    cdef TextHasher _gram_hasher
    cdef Murmur _murmur
    cdef Py_ssize_t _version, _version_of_categories, n_classes
    cdef readonly bint has_texts, has_maps, has_trees, has_characters, has_neighbors, has_boosted, is_empty
    cdef bint _is_kept
    cdef unsigned short[::1] _places

    @cython.locals(m=Py_ssize_t, named=dict)
    cdef load(self, x)

    cdef compute(self)

    @cython.locals(number=double)
    cdef _add(self, name, value)

    cdef _add_number(self, name, double number)

    @cython.locals(tag=int, first_word=Py_ssize_t, first_gram=Py_ssize_t)
    cdef _add_text(self, name, str text)

    cdef int _hash(self, str name) except? -1

    @cython.locals(active=bint)
    cdef _pass_bins(self)

    @cython.locals(number=Py_ssize_t, k=Py_ssize_t, at=Py_ssize_t, part=int, z=double)
    cdef _compute_bins(self)

    cdef reserve(self, Py_ssize_t n_classes)

    cdef count(self, Py_ssize_t number, double w, int is_wrong, bint auto_is_wrong, bint was_early)

    cdef grow(self, Py_ssize_t number, double w)

    cdef learn(self)

    @cython.locals(is_new=bint)
    cdef _arrange(self)


cdef class NamedMaps(FeatureMaps):
    pass
