"""ASCII text as bytes: the compiled form of `ascii.py`, which says what it means."""

cdef extern from *:
    """
    /* Several bytes at once: no branch depends on them. */
    static inline void copy_lowered(
        const unsigned char *CYTHON_RESTRICT from, char *CYTHON_RESTRICT to, Py_ssize_t n, char distance
    ) {
        for (Py_ssize_t k = 0; k < n; k++) to[k] = (char)(from[k] + distance * (from[k] >= 'A' && from[k] <= 'Z'));
    }
    """
    bint PyUnicode_IS_ASCII(object text) noexcept
    const unsigned char* PyUnicode_1BYTE_DATA(object text) noexcept
    void copy_lowered(const unsigned char* source, char* target, Py_ssize_t n, char distance) noexcept


cpdef bint copy_ascii(text, bytearray room, bint lowercase) except -1:
    """Copy a text into `room`; False, and nothing is copied, if it is not ASCII."""
    if not PyUnicode_IS_ASCII(text):
        return False
    if len(room) < len(text):
        raise IndexError("the text is longer than its room")
    copy_lowered(PyUnicode_1BYTE_DATA(text), room, len(text), 32 if lowercase else 0)
    return True
