"""Records of answers: the compiled form of `answer_record.py`, which says what it means."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.string cimport memcpy

from service.stream.batches cimport Entry, OutputBatch

from pydantic_core import to_json

from service.stream.protocol import Output

cdef extern from *:
    """
    /* Return the characters of a text that JSON writes as it stands, and their number; NULL for others:
       with a quotation mark, a backslash, a control character, or characters that are not ASCII. */
    static const unsigned char* perceptron_plain(PyObject* text, Py_ssize_t* size) {
        if (!PyUnicode_IS_COMPACT_ASCII(text)) return NULL;
        const unsigned char* characters = PyUnicode_1BYTE_DATA(text);
        Py_ssize_t n = PyUnicode_GET_LENGTH(text);
        unsigned int others = 0;
        for (Py_ssize_t k = 0; k < n; k++) {
            unsigned char c = characters[k];
            others |= (c < 0x20) | (c > 0x7e) | (c == '"') | (c == '\\\\');
        }
        *size = n;
        return others ? NULL : characters;
    }
    """
    const unsigned char* perceptron_plain(str text, Py_ssize_t* size) noexcept

cdef bytes _UPDATES = b',"updates":'
cdef bytes _EVENT_TIME = b',"event_time_ms":'
cdef bytes _PROBABILITY = b',"probability":'
cdef bytes _ID = b'{"id":"'
cdef enum:
    MOST_DIGITS = 20
    FRAME = 64  # bytes of the names of fields, more than they take
    PLACES = 3  # decimals of a number of thousandths

# Below, a number of thousandths has 15 digits at most: then no shorter decimal is the same double, and these
# are the digits that Pydantic writes.
cdef double FEW = 1e12


cpdef write_answer(
    OutputBatch outputs, topic, str event_id, tuple form, double number, probability, long long updates,
    long long event_time_ms, tuple headers,
):
    """Write the record of a prediction or an outcome."""
    cdef Py_ssize_t size = 0, most
    cdef const unsigned char* text = perceptron_plain(event_id, &size)
    cdef bytes before = <bytes?>form[0], behind = <bytes?>form[1], shown = None, further = None
    cdef unsigned char digits[MOST_DIGITS + PLACES + 1]
    cdef const unsigned char* written = digits
    cdef Py_ssize_t n_written = _thousandths(digits, number)
    cdef unsigned char* value
    cdef unsigned char* at
    cdef Entry* entry
    if not n_written:
        shown = to_json(number)
        written, n_written = <const unsigned char*>PyBytes_AS_STRING(shown), PyBytes_GET_SIZE(shown)
    if probability is not None:
        further = to_json(probability)
    if text == NULL or event_time_ms < 0 or len(headers):
        shown = PyBytes_FromStringAndSize(<const char*>written, n_written)
        _write_other(outputs, topic, event_id, before, shown, further, updates, event_time_ms, behind, headers)
        return
    most = size + FRAME + 2 * MOST_DIGITS + PyBytes_GET_SIZE(before) + n_written + PyBytes_GET_SIZE(behind)
    if further is not None:
        most += PyBytes_GET_SIZE(further)
    value = outputs.room(most)
    at = _put(value, _ID)
    memcpy(at, text, size)
    at[size] = c'"'
    at = _put(at + size + 1, before)
    memcpy(at, written, n_written)
    at += n_written
    if further is not None:
        at = _put(_put(at, _PROBABILITY), further)
    if updates >= 0:
        at = _put_number(_put(at, _UPDATES), updates)
    at = _put(_put_number(_put(at, _EVENT_TIME), event_time_ms), behind)
    entry = outputs.put(topic, ())
    entry.key, entry.key_size = value + PyBytes_GET_SIZE(_ID), size  # as it stands in the value
    entry.value, entry.value_size = value, at - value
    outputs.give_back(most - entry.value_size)


cdef _write_other(
    OutputBatch outputs, topic, str event_id, bytes before, bytes shown, bytes further, long long updates,
    long long event_time_ms, bytes behind, headers,
):
    """Write an answer to an event whose id or time is not as most are, or which has headers."""
    numbers = shown if further is None else b"%b%b%b" % (shown, _PROBABILITY, further)
    if updates >= 0:
        numbers = b"%b%b%d" % (numbers, _UPDATES, updates)
    given = (to_json(event_id), before, numbers, event_time_ms, behind)
    outputs.append(Output(topic, event_id.encode(), b'{"id":%b%b%b,"event_time_ms":%d%b' % given, headers))


cdef Py_ssize_t _thousandths(unsigned char* digits, double number) noexcept:
    """Write a number of whole thousandths, as delays are, as Pydantic does; return its length, 0 for any other."""
    cdef unsigned char* at
    cdef long long thousandths
    cdef int k, rest
    if not 0 < number < FEW / 1000:
        return 0
    thousandths = <long long>(number * 1000 + 0.5)
    if thousandths / 1000.0 != number:
        return 0
    rest = thousandths % 1000
    at = _put_number(digits, thousandths // 1000)
    at[0] = c'.'
    for k in range(PLACES, 0, -1):
        at[k] = <unsigned char>(c'0' + rest % 10)
        rest //= 10
    at += PLACES
    while at[0] == c'0' and (at - 1)[0] != c'.':
        at -= 1
    return at + 1 - digits


cdef inline unsigned char* _put(unsigned char* at, bytes part) noexcept:
    memcpy(at, PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part))
    return at + PyBytes_GET_SIZE(part)


cdef unsigned char* _put_number(unsigned char* at, long long number) noexcept:
    """Write a number that is not negative."""
    cdef unsigned char digits[MOST_DIGITS]
    cdef int first = MOST_DIGITS
    while True:
        first -= 1
        digits[first] = <unsigned char>(c'0' + number % 10)
        number //= 10
        if not number:
            break
    memcpy(at, &digits[first], MOST_DIGITS - first)
    return at + MOST_DIGITS - first
