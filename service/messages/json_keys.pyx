"""Count the keys of JSON objects in the bytes and in what was read from them, to find repeated ones.

This module imports nothing: settings are read before the core is imported.
"""

from libc.string cimport strchr


def has_as_many_keys(value, document):
    """Return whether the objects of a valid JSON value have as many keys as those of the document read from it.

    Readers keep one value of a repeated key. A key is followed by a colon; other colons are within texts.

    Parameters
    ----------
    value
        The bytes.
    document
        What was read from them: a dictionary, a list or a scalar.

    """
    cdef const char* at = value
    cdef const char* quote
    cdef Py_ssize_t n = 0
    while at[0]:
        if at[0] == c'"':
            quote = at = strchr(at + 1, c'"')
            while (quote - 1)[0] == c'\\':
                quote -= 1
            if (at - quote) & 1:  # an escaped quote is within the text
                continue
        n += at[0] == c':'
        at += 1
    return n == _n_keys(document)


cdef Py_ssize_t _n_keys(document) except -1:
    """Return the number of keys of a dictionary and of everything in it; of a list, of its entries."""
    cdef Py_ssize_t n = 0
    if type(document) is dict:
        n = len(<dict>document)
        for value in (<dict>document).values():
            n += _n_keys(value)
    elif type(document) is list:
        for each in <list>document:
            n += _n_keys(each)
    return n
