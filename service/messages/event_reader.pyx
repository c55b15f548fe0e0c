"""Messages of the common shape, read in one pass: the compiled form of `event_reader.py`, which says what it means."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Copy, PyDict_SetItem
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memcmp

from service.messages.json_tokens cimport TENS, number_at, perceptron_powers, skip, text_end

from service.messages.schema import MAX_ID_LENGTH as _MAX_ID_LENGTH

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef Py_ssize_t MAX_ID_LENGTH = _MAX_ID_LENGTH

# Names of features that are remembered, each at the place that its hash says; longer ones are not.
cdef enum:
    KNOWN_NAMES = 1024
    LONGEST_KNOWN = 48

# Features of a message whose names the next one is expected to have in the same order.
cdef enum:
    MOST_EXPECTED = 256

# The fields, by their bits; several are not read.
cdef enum:
    ID = 0
    FEATURES
    TEXT
    LABEL

# Stands for what has to be left to Pydantic, where None is a value.
cdef object DECLINED = object()


cdef class EventReader:
    """Reads messages of the service's own schema."""

    def __init__(self):
        self._names = ()
        self._template = {}
        self._n_last = -1
        self._known_names = [None] * KNOWN_NAMES

    cpdef tuple read(self, value):
        """Return the fields as Pydantic would read them; None if it has to be asked."""
        if not PyBytes_CheckExact(value):
            return None
        cdef const unsigned char* at = <const unsigned char*>PyBytes_AS_STRING(value)
        cdef const unsigned char* end = at + PyBytes_GET_SIZE(value)
        cdef list found = [None, None, None, None]
        try:
            if not self._fields(value, &at, found):
                return None
        except UnicodeDecodeError:
            return None
        if skip(at) != end or found[ID] is None:
            return None
        return found[ID], found[FEATURES], found[TEXT], found[LABEL]

    cdef int _fields(self, bytes value, const unsigned char** at, list found) except -1:
        """Read an object of fields; return whether that could be done."""
        cdef const unsigned char* end = <const unsigned char*>PyBytes_AS_STRING(value) + PyBytes_GET_SIZE(value)
        cdef int field, seen = 0
        at[0] = skip(at[0])
        if at[0][0] != c'{':
            return 0
        while True:
            at[0] = skip(at[0] + 1)
            field = _field(at, end)
            if field < 0 or seen & 1 << field:
                return 0
            seen |= 1 << field
            read = self._features(at, end) if field == FEATURES else _scalar(at, end)
            if not _fits(field, read):
                return 0
            found[field] = read
            at[0] = skip(at[0])
            if at[0][0] == c'}':
                at[0] += 1
                return 1
            if at[0][0] != c',':
                return 0

    cdef object _features(self, const unsigned char** at, const unsigned char* end):
        """Read an object of scalars."""
        if at[0][0] != c'{':
            return _scalar(at, end)  # null, or nothing that fits
        at[0] = skip(at[0] + 1)
        if at[0][0] == c'}':
            at[0] += 1
            return {}
        return self._expected(at, end)

    cdef object _expected(self, const unsigned char** at, const unsigned char* end):
        """Read features that have the names of the last message, as most have; any others from the first one on."""
        cdef tuple names = self._names
        cdef dict template = self._template, features = None
        cdef Py_ssize_t n = 0, n_names = len(names)
        while n < n_names and _is_name(at, end, names[n]):
            if features is None:
                features = PyDict_Copy(template)
            read = _scalar(at, end)
            if read is DECLINED or read is None:
                return DECLINED
            PyDict_SetItem(features, names[n], read)
            n += 1
            at[0] = skip(at[0])
            if at[0][0] == c'}':
                at[0] += 1
                return features if n == n_names else {name: features[name] for name in names[:n]}
            if at[0][0] != c',':
                return DECLINED
            at[0] = skip(at[0] + 1)
        features = {name: features[name] for name in names[:n]}
        if not self._others(at, end, features):
            return DECLINED
        self._expect(features)
        return features

    cdef int _others(self, const unsigned char** at, const unsigned char* end, dict features) except -1:
        """Read features of any names, beginning with a name, up to the end; return whether that could be done."""
        cdef const unsigned char* text
        cdef Py_ssize_t n = len(features)
        while True:
            if at[0][0] != c'"':
                return 0
            text = at[0] + 1
            at[0] = text_end(text)
            if at[0] == NULL:
                return 0
            name = self._name(text, at[0] - text)
            at[0] = skip(at[0] + 1)
            if at[0][0] != c':':
                return 0
            at[0] = skip(at[0] + 1)
            read = _scalar(at, end)
            if read is DECLINED or read is None:
                return 0
            PyDict_SetItem(features, name, read)
            n += 1
            at[0] = skip(at[0])
            if at[0][0] == c'}':
                at[0] += 1
                return n == len(features)  # else a name came twice
            if at[0][0] != c',':
                return 0
            at[0] = skip(at[0] + 1)

    cdef _expect(self, dict features):
        """Expect these names again, if there were as many as in the message before."""
        cdef Py_ssize_t n = len(features)
        if n == self._n_last and n <= MOST_EXPECTED:
            self._template = dict.fromkeys(features)
            self._names = tuple(self._template)
        self._n_last = n

    cdef str _name(self, const unsigned char* text, Py_ssize_t size):
        """Return the name of a feature: the same object each time, as far as names are remembered."""
        cdef unsigned int place = 0
        cdef Py_ssize_t k, known_size
        cdef const char* known_text
        if size > LONGEST_KNOWN:
            return PyUnicode_DecodeUTF8(<const char*>text, size, NULL)
        for k in range(size):
            place = (place ^ text[k]) * 0x9E3779B1u
        place >>= 22
        known = self._known_names[place]
        if known is not None:
            known_text = PyUnicode_AsUTF8AndSize(known, &known_size)
            if known_size == size and not memcmp(known_text, text, size):
                return known
        name = PyUnicode_DecodeUTF8(<const char*>text, size, NULL)
        self._known_names[place] = name
        return name


cdef int _field(const unsigned char** at, const unsigned char* end) except -2:
    """Read the name of a field and the colon behind it; return which it is, -1 for none of them."""
    cdef const unsigned char* text = at[0]
    cdef Py_ssize_t left = end - text
    cdef int field
    if left > 4 and not memcmp(text, b'"id"', 4):
        field = ID
        text += 4
    elif left > 10 and not memcmp(text, b'"features"', 10):
        field = FEATURES
        text += 10
    elif left > 6 and not memcmp(text, b'"text"', 6):
        field = TEXT
        text += 6
    elif left > 7 and not memcmp(text, b'"label"', 7):
        field = LABEL
        text += 7
    else:
        return -1
    text = skip(text)
    if text[0] != c':':
        return -1
    at[0] = skip(text + 1)
    return field


cdef bint _fits(int field, read) except -1:
    """Return whether what was read is a value of the field."""
    if read is DECLINED:
        return False
    if field == ID:
        return type(read) is str and 0 < len(<str>read) <= MAX_ID_LENGTH
    if read is None or field == LABEL:
        return True
    return type(read) is str if field == TEXT else type(read) is dict


cdef bint _is_name(const unsigned char** at, const unsigned char* end, name) except -1:
    """Read this name and the colon behind it, if they are there; else nothing."""
    cdef Py_ssize_t size
    cdef const char* expected = PyUnicode_AsUTF8AndSize(name, &size)
    cdef const unsigned char* text = at[0]
    if end - text < size + 2 or text[0] != c'"' or text[size + 1] != c'"' or memcmp(text + 1, expected, size):
        return False
    text = skip(text + size + 2)
    if text[0] != c':':
        return False
    at[0] = skip(text + 1)
    return True


cdef object _scalar(const unsigned char** at, const unsigned char* end):
    """Read null, a boolean, a number or a text."""
    cdef const unsigned char* text = at[0]
    cdef Py_ssize_t left = end - text
    cdef double number
    if text[0] == c'"':
        at[0] = text_end(text + 1)
        if at[0] == NULL:
            return DECLINED
        at[0] += 1
        return PyUnicode_DecodeUTF8(<const char*>text + 1, at[0] - text - 2, NULL)
    if left >= 4 and not memcmp(text, b"true", 4):
        at[0] = text + 4
        return True
    if left >= 5 and not memcmp(text, b"false", 5):
        at[0] = text + 5
        return False
    if left >= 4 and not memcmp(text, b"null", 4):
        at[0] = text + 4
        return None
    at[0] = number_at(text, &number)
    return DECLINED if at[0] == NULL else number


def _bits_of_power(exponent):
    """Return the first 128 bits of 5^exponent as Lemire has them: cut off; those of a reciprocal, and one more."""
    power = 5 ** abs(exponent)
    length = power.bit_length()
    if exponent >= 0:
        return power << 128 >> length
    bits = (1 << 2 * length + 128) // power + 1 if exponent < -27 else (1 << length + 127) // power + 1
    return bits >> bits.bit_length() - 128


cdef _fill_powers():
    cdef int exponent
    for exponent in range(-TENS, TENS + 1):
        bits = _bits_of_power(exponent)
        perceptron_powers[exponent + TENS][0] = bits >> 64
        perceptron_powers[exponent + TENS][1] = bits & 0xFFFF_FFFF_FFFF_FFFF


_fill_powers()
