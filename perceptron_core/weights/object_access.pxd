# Python's objects as C sees them: what feature_index.pyx asks of names, values and dictionaries. No module of its own.
from cpython.object cimport PyObject

cdef extern from *:
    """
    /* The hash that a string keeps, without a call. */
    static inline Py_hash_t hash_of(PyObject *name) {
        if (PyUnicode_CheckExact(name)) {
            Py_hash_t kept = ((PyASCIIObject *)name)->hash;
            if (kept != -1) return kept;
        }
        return PyObject_Hash(name);
    }
    /* 32 bits of a hash, well mixed: the first of them say where a name is at home. Multiplied by 2^64 over the golden
       ratio, hashes that lie in a row spread out (Knuth, 6.4). 1 also where hashing raised. */
    static inline unsigned int fingerprint(PyObject *name) {
        Py_hash_t hash = hash_of(name);
        if (hash == -1 && PyErr_Occurred()) return 1;
        return (unsigned int)(((unsigned long long)hash * 0x9E3779B97F4A7C15ULL) >> 32);
    }
    /* Of the two halves of the 16 bytes that end where a text of n bytes ends, those that are its own. */
    static const uint64_t OWN[17][2] = {
    #define TOP(n) (~(uint64_t)0 << (64 - 8 * (n)))
        {0, 0}, {0, TOP(1)}, {0, TOP(2)}, {0, TOP(3)}, {0, TOP(4)}, {0, TOP(5)}, {0, TOP(6)}, {0, TOP(7)}, {0, TOP(8)},
        {TOP(1), TOP(8)}, {TOP(2), TOP(8)}, {TOP(3), TOP(8)}, {TOP(4), TOP(8)}, {TOP(5), TOP(8)}, {TOP(6), TOP(8)},
        {TOP(7), TOP(8)}, {TOP(8), TOP(8)}
    #undef TOP
    };
    /* Of two strings: 1 or 0. Otherwise -1: ask Python. */
    static inline int same_text(PyObject *a, PyObject *b) {
        if (!PyUnicode_CheckExact(a) || !PyUnicode_CheckExact(b)) return -1;
        size_t n = (size_t)PyUnicode_GET_LENGTH(a);
        if (n != (size_t)PyUnicode_GET_LENGTH(b) || PyUnicode_KIND(a) != PyUnicode_KIND(b)) return 0;
    #if PY_LITTLE_ENDIAN
        if (n <= 16 && PyUnicode_IS_COMPACT_ASCII(a) && PyUnicode_IS_COMPACT_ASCII(b)) {
            /* What the 16 bytes hold before the text is still the string: its head is longer. No branch depends on n,
               since lengths cannot be guessed. */
            uint64_t x[2], y[2];
            memcpy(x, (char *)PyUnicode_DATA(a) + n - 16, 16);
            memcpy(y, (char *)PyUnicode_DATA(b) + n - 16, 16);
            return !(((x[0] ^ y[0]) & OWN[n][0]) | ((x[1] ^ y[1]) & OWN[n][1]));
        }
    #endif
        return !memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), n * PyUnicode_KIND(a));
    }
    /* Whether b is a string of the same hash and the same text as the string a. */
    static inline int is_same_string(PyObject *a, PyObject *b) {
        return PyUnicode_CheckExact(b) && ((PyASCIIObject *)a)->hash == ((PyASCIIObject *)b)->hash
            && same_text(a, b) == 1;
    }
    #if defined(__GNUC__)
    #define ask_for(object) __builtin_prefetch(object)
    #else
    #define ask_for(object) ((void)(object))
    #endif
    static inline void replace_item(PyObject *list, Py_ssize_t k, PyObject *item) {
        PyObject *old = PyList_GET_ITEM(list, k);
        Py_INCREF(item);
        PyList_SET_ITEM(list, k, item);
        Py_DECREF(old);
    }
    """
    unsigned int fingerprint(PyObject* name) except? 1
    int same_text(PyObject* a, PyObject* b) noexcept
    bint is_same_string(PyObject* a, PyObject* b) noexcept
    void ask_for(void* thing) noexcept
    bint PyUnicode_CheckExact(PyObject* name) noexcept
    PyObject* Py_True
    PyObject* Py_False
    PyObject* Py_None
    void replace_item(PyObject* items, Py_ssize_t k, PyObject* item)
    PyObject* PyList_GET_ITEM(PyObject* items, Py_ssize_t k)
    bint PyFloat_CheckExact(PyObject* value)
    double PyFloat_AS_DOUBLE(PyObject* value)
    bint PyLong_CheckExact(PyObject* value)
    double PyLong_AsDouble(PyObject* value) except? -1
