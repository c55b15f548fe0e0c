"""Avro's binary encoding: the compiled form of `avro_decoder.py`, which says what it means."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_SetItem
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.string cimport memcmp

from service.formats.budget import TooManyValues
from service.formats.plain_values import iso_date, scaled, uuid_text

cdef extern from *:
    """
    #include <string.h>
    static inline int perceptron_is_ascii(PyObject* text) { return PyUnicode_IS_ASCII(text); }
    static inline const char* perceptron_ascii(PyObject* text) { return (const char*)PyUnicode_1BYTE_DATA(text); }
    /* Avro is little-endian, as nearly every machine is. */
    static inline double perceptron_double(const unsigned char* at) {
        unsigned long long bits = 0; double value;
        for (int k = 7; k >= 0; k--) bits = bits << 8 | at[k];
        memcpy(&value, &bits, 8);
        return value;
    }
    static inline float perceptron_float(const unsigned char* at) {
        unsigned int bits = 0; float value;
        for (int k = 3; k >= 0; k--) bits = bits << 8 | at[k];
        memcpy(&value, &bits, 4);
        return value;
    }
    """
    bint perceptron_is_ascii(object text) noexcept
    const char* perceptron_ascii(object text) noexcept
    double perceptron_double(const unsigned char* at) noexcept
    float perceptron_float(const unsigned char* at) noexcept

cdef enum:
    _NULL = 0
    _BOOLEAN
    _LONG
    _FLOAT
    _DOUBLE
    _STRING
    _BYTES
    _FIXED
    _ENUM
    _ARRAY
    _MAP
    _UNION
    _RECORD
    _DECIMAL
    _DATE
    _SCALED
    _UUID

NOTHING, BOOLEAN, LONG, FLOAT, DOUBLE, STRING = range(6)
BYTES, FIXED, ENUM, ARRAY, MAP, UNION, RECORD = range(6, 13)
DECIMAL, DATE, SCALED, UUID = range(13, 17)

cdef int _MAX_DEPTH = 100
MAX_DEPTH = _MAX_DEPTH

# Names of a map that are remembered by their position: most maps have the same names in the same order.
cdef enum: MOST_SEEN = 256

cdef enum:  # of budget.py
    FREE_VALUES = 10_000
    VALUES_PER_BYTE = 16
    MOST_VALUES = 1 << 20


cdef class Plan:
    """How values of one schema are read."""

    def __init__(self, op, names=None, size=-1, scale=1):
        self.op, self.names, self.children, self.size, self.scale = op, names or [], [], size, scale
        self._seen = []
        self._template = dict.fromkeys(self.names)


cdef class AvroDecoder:
    """Reads values of one schema."""

    def __init__(self, Plan plan):
        self._plan = plan

    cpdef read(self, bytes data, Py_ssize_t start, bytes instead=None):
        """Read one value that begins at `start` and ends with the data."""
        if instead is not None:
            data, start = instead, 0
        if not 0 <= start <= PyBytes_GET_SIZE(data):
            raise ValueError(f"{start} lies outside the data")
        self._data = data
        self._at = <const unsigned char*>PyBytes_AS_STRING(data) + start
        self._end = <const unsigned char*>PyBytes_AS_STRING(data) + PyBytes_GET_SIZE(data)
        cdef Py_ssize_t n_bytes = PyBytes_GET_SIZE(data)
        self._left = max(n_bytes, min(FREE_VALUES + VALUES_PER_BYTE * n_bytes, MOST_VALUES))
        value = self._read(self._plan, _MAX_DEPTH)
        if self._at != self._end:
            raise ValueError(f"{self._end - self._at} bytes are left behind the value")
        return value

    cdef _read(self, Plan plan, int depth):
        cdef int op = plan.op
        cdef long long number
        cdef const unsigned char* at
        if not depth:
            raise RecursionError(f"values are nested more than {_MAX_DEPTH} deep")
        if op == _DOUBLE:
            return perceptron_double(self._take(8))
        if op == _STRING:
            return self._text()
        if op == _UNION:
            return self._read(<Plan>plan.children[self._index(len(plan.children))], depth - 1)
        if op == _NULL:
            return None
        if op == _LONG:
            self._long(&number)
            return number
        if op == _BOOLEAN:
            at = self._take(1)
            if at[0] > 1:
                raise ValueError(f"{at[0]} is no boolean")
            return at[0] == 1
        if op == _FLOAT:
            return <double>perceptron_float(self._take(4))
        if op == _RECORD:
            return self._read_record(plan, depth - 1)
        if op == _MAP:
            return self._read_map(plan, depth - 1)
        if op == _ARRAY:
            return self._read_array(plan, depth - 1)
        if op == _ENUM:
            return plan.names[self._index(len(plan.names))]
        return self._read_logical(plan)

    cdef _read_logical(self, Plan plan):
        cdef int op = plan.op
        cdef long long number = plan.size
        cdef const unsigned char* at
        if op == _BYTES or (op == _DECIMAL and plan.size < 0) or op == _DATE or op == _SCALED:
            self._long(&number)
        if op == _DATE:
            return iso_date(number)
        if op == _SCALED:
            return (<object>number) // plan.scale
        at = self._take(16 if op == _UUID else number)
        if op == _DECIMAL:
            return scaled(PyBytes_FromStringAndSize(<const char*>at, number), plan.scale)
        if op == _UUID:
            return uuid_text(PyBytes_FromStringAndSize(<const char*>at, 16))
        return None

    cdef list _read_array(self, Plan plan, int depth):
        cdef list items = []
        cdef Plan item = <Plan>plan.children[0]
        cdef Py_ssize_t count, _k
        while True:
            count = self._count()
            if not count:
                return items
            for _k in range(count):
                items.append(self._read(item, depth))

    cdef dict _read_map(self, Plan plan, int depth):
        cdef dict items = {}
        cdef Plan item = <Plan>plan.children[0]
        cdef Py_ssize_t count, _k, position = 0
        while True:
            count = self._count()
            if not count:
                return items
            for _k in range(count):
                name = self._name(plan, position)
                if item.op == _DOUBLE and depth:
                    PyDict_SetItem(items, name, perceptron_double(self._take(8)))
                else:
                    PyDict_SetItem(items, name, self._read(item, depth))
                position += 1

    cdef dict _read_record(self, Plan plan, int depth):
        cdef dict fields = plan._template.copy()  # which has room for all names
        cdef Py_ssize_t k
        cdef Plan child
        cdef int left
        for k in range(len(plan.names)):
            child, left = <Plan>plan.children[k], depth
            if child.op == _UNION and depth > 1:
                child, left = <Plan>child.children[self._index(len(child.children))], depth - 1
            if child.op == _DOUBLE and left:
                value = perceptron_double(self._take(8))
            else:
                value = self._read(child, left)
            PyDict_SetItem(fields, plan.names[k], value)
        self._spend(len(plan.names))
        return fields

    cdef str _text(self):
        cdef long long size
        self._long(&size)
        cdef const unsigned char* at = self._take(size)
        return PyUnicode_DecodeUTF8(<const char*>at, size, NULL)

    cdef str _name(self, Plan plan, Py_ssize_t position):
        """Read a name in a map; the one that was last read at this position again, if it is the same."""
        cdef long long size
        cdef str name
        self._long(&size)
        cdef const unsigned char* at = self._take(size)
        if position < len(plan._seen):
            name = <str>plan._seen[position]
            if len(name) == size and perceptron_is_ascii(name) and not memcmp(perceptron_ascii(name), at, size):
                return name
        name = PyUnicode_DecodeUTF8(<const char*>at, size, NULL)
        if position < len(plan._seen):
            plan._seen[position] = name
        elif position < MOST_SEEN:
            plan._seen.append(name)
        return name

    cdef const unsigned char* _take(self, long long n_bytes) except NULL:
        cdef const unsigned char* at = self._at
        if n_bytes < 0 or n_bytes > self._end - at:
            start = at - <const unsigned char*>PyBytes_AS_STRING(self._data)
            raise ValueError(f"{n_bytes} bytes are wanted at byte {start}, {self._end - at} are there")
        self._at = at + n_bytes
        return at

    cdef int _long(self, long long* value) except -1:
        cdef unsigned long long bits = 0
        cdef int shift = 0
        cdef unsigned char byte
        while shift < 70:
            byte = self._take(1)[0]
            if shift < 64:
                bits |= <unsigned long long>(byte & 0x7F) << shift
            if byte < 0x80:
                value[0] = <long long>(bits >> 1) ^ -<long long>(bits & 1)
                return 0
            shift += 7
        start = self._at - <const unsigned char*>PyBytes_AS_STRING(self._data)
        raise ValueError(f"a number of more than ten bytes before byte {start}")

    cdef Py_ssize_t _index(self, Py_ssize_t count) except -1:
        cdef long long index
        self._long(&index)
        if not 0 <= index < count:
            raise ValueError(f"{index} is none of {count} branches or symbols")
        return index

    cdef Py_ssize_t _count(self) except -1:
        """Return how many items the next block has; 0 is the end."""
        cdef long long count, n_bytes
        self._long(&count)
        if count < 0:
            self._long(&n_bytes)
            count = -(count + 1)  # not its opposite yet, which the lowest one has not
            self._spend(1)
            self._spend(count)
            return count + 1
        self._spend(count)
        return count

    cdef int _spend(self, long long count) except -1:
        if count > self._left:
            raise TooManyValues(PyBytes_GET_SIZE(self._data))
        self._left -= count
        return 0
