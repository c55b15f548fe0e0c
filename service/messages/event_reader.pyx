"""Read messages of the common shape in one pass, with the same result as Pydantic.

The common shape is an object with known fields, each once, numbers of at most 19 digits, texts without
escapes. Any other message is left to Pydantic. Features with the expected names are `NamedValues` if all are
numbers.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_Copy, PyDict_SetItem
from libc.string cimport memcmp

from perceptron_core.weights.values cimport NamedValues, named_values
from service.messages.json_tokens cimport TENS, is_same, number_at, perceptron_powers, scalar, skip, string, text_end

from service.messages.labels import MAX_WEIGHT as _MAX_WEIGHT
from service.messages.schema import MAX_ID_LENGTH as _MAX_ID_LENGTH

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef Py_ssize_t MAX_ID_LENGTH = _MAX_ID_LENGTH
cdef double MAX_WEIGHT = _MAX_WEIGHT

# How many names of features are cached, each in the slot of its hash, and the longest name that is.
cdef enum:
    KNOWN_NAMES = 1024
    LONGEST_KNOWN = 48

# The fields as bits, which detect repeated fields.
cdef enum:
    ID = 0
    FEATURES
    TEXT
    LABEL
    WEIGHT


cdef class EventReader:
    """Reads messages of the native schema."""

    def __init__(self):
        self._names = ()
        self._written = b""
        self._template = {}
        self._n_last = -1
        self._known_names = [None] * KNOWN_NAMES

    cpdef tuple read(self, value):
        """Return the fields as Pydantic would; None if the message is left to Pydantic."""
        if not PyBytes_CheckExact(value):
            return None
        if not self.read_at(<const unsigned char*>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)):
            return None
        return self.id, self.features, self.text, self.label, self.weight

    cdef bint read_at(self, const unsigned char* value, Py_ssize_t size) except -1:
        """Read a message that ends with a zero byte; return False if it is left to Pydantic."""
        cdef const unsigned char* at = skip(value)
        self.id = self.features = self.text = self.label = self.weight = None
        return self._fields(&at, value + size) and skip(at) == value + size and self.id is not None

    cdef bint _fields(self, const unsigned char** at, const unsigned char* end) except -1:
        """Read an object of fields; return whether that succeeded."""
        cdef int field, seen = 0
        if at[0][0] != c'{':
            return False
        while True:
            at[0] = skip(at[0] + 1)
            field = _field(at, end)
            if field < 0 or seen & 1 << field or not self._value(field, at, end):
                return False
            seen |= 1 << field
            at[0] = skip(at[0])
            if at[0][0] == c'}':
                at[0] += 1
                return True
            if at[0][0] != c',':
                return False

    cdef bint _value(self, int field, const unsigned char** at, const unsigned char* end) except -1:
        """Read the value of a field; return whether the field may have it."""
        read = self._features(at, end) if field == FEATURES else scalar(at, end)
        if read is NotImplemented:
            return False
        if field == ID:
            self.id = read
            return type(read) is str and 0 < len(<str>read) <= MAX_ID_LENGTH
        if field == LABEL:
            self.label = read
            return True
        if field == TEXT:
            self.text = read
            return read is None or type(read) is str
        if field == WEIGHT:
            self.weight = read
            return read is None or type(read) is float and 0.0 <= <double>read <= MAX_WEIGHT
        self.features = read
        return read is None or type(read) is NamedValues or type(read) is dict

    cdef object _features(self, const unsigned char** at, const unsigned char* end):
        """Read an object of scalars."""
        if at[0][0] != c'{':
            return scalar(at, end)  # null, or a value that does not fit
        at[0] = skip(at[0] + 1)
        if at[0][0] == c'}':
            at[0] += 1
            return {}
        return self._expected(at, end)

    cdef object _expected(self, const unsigned char** at, const unsigned char* end):
        """Read features with the names of the last message, the usual case; from the first other name on, any
        names.

        As long as all of them are numbers, no objects are made.
        """
        cdef const unsigned char* after
        cdef const unsigned char* written = <const unsigned char*>PyBytes_AS_STRING(self._written)
        cdef dict features = None
        cdef Py_ssize_t n = 0, n_names = len(self._names)
        while n < n_names and _is_name(at, end, written, self._sizes[n]):
            written += self._sizes[n]
            after = NULL
            if features is None:
                after = number_at(at[0], end, &self._numbers[n])
            if after != NULL:
                at[0] = after
            else:
                if features is None:
                    features = self._first(n)
                read = scalar(at, end)
                if read is NotImplemented or read is None:
                    return NotImplemented
                PyDict_SetItem(features, self._names[n], read)
            n += 1
            at[0] = skip(at[0])
            if at[0][0] == c'}':
                at[0] += 1
                if n < n_names:
                    return self._so_far(features, n)
                return named_values(self._names, self._numbers) if features is None else features
            if at[0][0] != c',':
                return NotImplemented
            at[0] = skip(at[0] + 1)
        features = self._so_far(features, n)
        if not self._others(at, end, features):
            return NotImplemented
        self._expect(features)
        return features

    cdef dict _so_far(self, dict features, Py_ssize_t n):
        """Return a dictionary of the first n expected names; `features` is None if all values are numbers."""
        if features is None:
            features = self._first(n)
        return {name: features[name] for name in self._names[:n]}

    cdef dict _first(self, Py_ssize_t n):
        """Return a dictionary of the first n expected names with the numbers that were read."""
        cdef dict features = PyDict_Copy(self._template)
        cdef Py_ssize_t k
        for k in range(n):
            PyDict_SetItem(features, self._names[k], self._numbers[k])
        return features

    cdef bint _others(self, const unsigned char** at, const unsigned char* end, dict features) except -1:
        """Read features of any names, from a name up to the end; return whether that succeeded."""
        cdef const unsigned char* text
        cdef unsigned char bits
        cdef Py_ssize_t n = len(features)
        while True:
            if at[0][0] != c'"':
                return False
            text = at[0] + 1
            at[0] = text_end(text, &bits)
            if at[0] == NULL:
                return False
            name = self._name(text, at[0] - text, bits < 0x80)
            at[0] = skip(at[0] + 1)
            if name is NotImplemented or at[0][0] != c':':
                return False
            at[0] = skip(at[0] + 1)
            read = scalar(at, end)
            if read is NotImplemented or read is None:
                return False
            PyDict_SetItem(features, name, read)
            n += 1
            at[0] = skip(at[0])
            if at[0][0] == c'}':
                at[0] += 1
                return n == len(features)  # otherwise a name occurred twice
            if at[0][0] != c',':
                return False
            at[0] = skip(at[0] + 1)

    cdef _expect(self, dict features):
        """Expect these names from now on, if there are as many as in the last message."""
        cdef Py_ssize_t n = len(features), k
        if n == self._n_last and n <= MAX_EXPECTED:
            names = tuple(features)
            written = [b'"%s"' % name.encode() for name in names]
            self._written = b"".join(written) + bytes(7)  # `is_same` may read these bytes
            self._template, self._names = dict.fromkeys(names), names
            for k in range(n):
                self._sizes[k] = len(written[k])
        self._n_last = n

    cdef object _name(self, const unsigned char* text, Py_ssize_t size, bint is_ascii):
        """Return the name of a feature: the same object each time while the name is cached."""
        cdef unsigned int bucket = 0
        cdef Py_ssize_t k, known_size
        cdef const char* known_text
        if size > LONGEST_KNOWN:
            return string(text, size, is_ascii)
        for k in range(size):
            bucket = (bucket ^ text[k]) * 0x9E3779B1u
        bucket >>= 22
        known = self._known_names[bucket]
        if known is not None:
            known_text = PyUnicode_AsUTF8AndSize(known, &known_size)
            if known_size == size and not memcmp(known_text, text, size):
                return known
        name = string(text, size, is_ascii)
        if name is not NotImplemented:
            self._known_names[bucket] = name
        return name


cdef int _field(const unsigned char** at, const unsigned char* end) except -2:
    """Read the name of a field and the colon after it; return its index, -1 for an unknown name."""
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
    elif left > 8 and not memcmp(text, b'"weight"', 8):
        field = WEIGHT
        text += 8
    else:
        return -1
    text = skip(text)
    if text[0] != c':':
        return -1
    at[0] = skip(text + 1)
    return field


cdef bint _is_name(
    const unsigned char** at, const unsigned char* end, const unsigned char* written, Py_ssize_t size
) noexcept:
    """Read this name and the colon after it, if they follow; otherwise read nothing."""
    cdef const unsigned char* text
    if not is_same(at[0], end, written, size):
        return False
    text = skip(at[0] + size)
    if text[0] != c':':
        return False
    at[0] = skip(text + 1)
    return True


def _bits_of_power(exponent):
    """Return the first 128 bits of 5^exponent as in Lemire's table: truncated; of a reciprocal, plus one."""
    power = 5 ** abs(exponent)
    length = power.bit_length()
    if exponent >= 0:
        return power << 128 >> length
    bits = (1 << 2 * length + 128) // power + 1 if exponent < -27 else (1 << length + 127) // power + 1
    return bits >> bits.bit_length() - 128


cdef _fill_powers():
    for exponent in range(-TENS, TENS + 1):
        bits = _bits_of_power(exponent)
        perceptron_powers[exponent + TENS][0] = bits >> 64
        perceptron_powers[exponent + TENS][1] = bits & 0xFFFF_FFFF_FFFF_FFFF


_fill_powers()
