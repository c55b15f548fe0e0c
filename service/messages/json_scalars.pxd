# Scalars of JSON as Python objects: what event_reader.pyx is made of. No module of its own.
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memcmp

from service.messages.json_tokens cimport ascii_text, number_at, text_end


cdef inline object scalar(const unsigned char** at, const unsigned char* end):
    """Read null, a boolean, a number or a string; return `NotImplemented` for any other value."""
    cdef const unsigned char* text = at[0]
    cdef Py_ssize_t left = end - text
    cdef unsigned char bits
    cdef double number
    if text[0] == c'"':
        at[0] = text_end(text + 1, &bits)
        if at[0] == NULL:
            return NotImplemented
        at[0] += 1
        return string(text + 1, at[0] - text - 2, bits < 0x80)
    if left >= 4 and not memcmp(text, b"true", 4):
        at[0] = text + 4
        return True
    if left >= 5 and not memcmp(text, b"false", 5):
        at[0] = text + 5
        return False
    if left >= 4 and not memcmp(text, b"null", 4):
        at[0] = text + 4
        return None
    at[0] = number_at(text, end, &number)
    return NotImplemented if at[0] == NULL else number


cdef inline object string(const unsigned char* text, Py_ssize_t size, bint is_ascii):
    """Decode a string; return `NotImplemented` if it is not UTF-8."""
    if is_ascii:
        return ascii_text(text, size)
    try:
        return PyUnicode_DecodeUTF8(<const char*>text, size, NULL)
    except UnicodeDecodeError:
        return NotImplemented
