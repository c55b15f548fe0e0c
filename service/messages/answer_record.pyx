"""Records of answers: the compiled form of `answer_record.py`, which says what it means."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8String
from libc.string cimport memcpy

from pydantic_core import to_json

from service.stream import Output

cdef extern from *:
    """
    /* Whether JSON writes a text as it stands: no quotation mark, no backslash, no control character. */
    static int perceptron_is_plain(const char* text, Py_ssize_t size) {
        for (Py_ssize_t k = 0; k < size; k++) {
            unsigned char c = (unsigned char)text[k];
            if (c < 0x20 || c > 0x7e || c == '"' || c == '\\\\') return 0;
        }
        return 1;
    }
    """
    bint perceptron_is_plain(const char* text, Py_ssize_t size) noexcept

cdef object _new = tuple.__new__
cdef bytes _UPDATES = b',"updates":'
cdef bytes _EVENT_TIME = b',"event_time_ms":'
cdef bytes _ID = b'{"id":'
cdef long long _LONGEST = 10**17


cpdef answer_record(topic, str event_id, tuple form, bytes numbers, updates, event_time_ms, headers):
    """Make the record of a prediction or an outcome."""
    cdef bytes key = PyUnicode_AsUTF8String(event_id)
    cdef bytes before = <bytes?>form[0], behind = <bytes?>form[1], value
    if (
        perceptron_is_plain(PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key))
        and (updates is None or 0 <= updates < _LONGEST)
        and 0 <= event_time_ms < _LONGEST
    ):
        value = _written(key, before, numbers, -1 if updates is None else updates, event_time_ms, behind)
    else:
        if updates is not None:
            numbers = b'%b,"updates":%d' % (numbers, updates)
        value = b'{"id":%b%b%b,"event_time_ms":%d%b' % (to_json(event_id), before, numbers, event_time_ms, behind)
    return _new(Output, (topic, key, value, headers, None, None))


cdef bytes _written(
    bytes key, bytes before, bytes numbers, long long updates, long long event_time_ms, bytes behind
):
    """Write a plain id and numbers of at most 17 digits; no updates where these are negative."""
    cdef Py_ssize_t size = (
        PyBytes_GET_SIZE(_ID) + 2 + PyBytes_GET_SIZE(key) + PyBytes_GET_SIZE(before) + PyBytes_GET_SIZE(numbers)
        + (PyBytes_GET_SIZE(_UPDATES) + _digits(updates) if updates >= 0 else 0)
        + PyBytes_GET_SIZE(_EVENT_TIME) + _digits(event_time_ms) + PyBytes_GET_SIZE(behind)
    )
    cdef bytes value = PyBytes_FromStringAndSize(NULL, size)
    cdef char* at = PyBytes_AS_STRING(value)
    at = _put(at, _ID)
    at[0] = c'"'
    at = _put(at + 1, key)
    at[0] = c'"'
    at = _put(at + 1, before)
    at = _put(at, numbers)
    if updates >= 0:
        at = _put_number(_put(at, _UPDATES), updates)
    at = _put_number(_put(at, _EVENT_TIME), event_time_ms)
    _put(at, behind)
    return value


cdef char* _put(char* at, bytes part) noexcept:
    memcpy(at, PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part))
    return at + PyBytes_GET_SIZE(part)


cdef Py_ssize_t _digits(long long number) noexcept:
    cdef Py_ssize_t n = 1
    while number >= 10:
        number //= 10
        n += 1
    return n


cdef char* _put_number(char* at, long long number) noexcept:
    cdef char* end = at + _digits(number)
    cdef char* place = end
    while place > at:
        place -= 1
        place[0] = <char>(c'0' + number % 10)
        number //= 10
    return end
