"""Predicted events: the compiled form of `examples.py`, which says what it means."""

cimport cython
from cpython cimport array
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.math cimport NAN, fabs
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from perceptron_core.weights.feature_array cimport FeatureArray
from perceptron_core.weights.values cimport IndexedValues
from perceptron_core.weights.values cimport NamedValues

from array import array as new_array
from collections.abc import Callable, Sequence
from operator import attrgetter

import msgpack

from service.models.probability import log_odds_of
from service.partition.processed import Correction, Step

cdef long long _EXAMPLE_BYTES = 512
cdef long long _FEATURE_BYTES = 128
cdef Py_ssize_t _LOOSE_FEATURES = 256
cdef long long _LOOSE_BYTES = 4096
cdef extern from *:
    bint PyUnicode_IS_ASCII(object text) noexcept
    const unsigned char* PyUnicode_1BYTE_DATA(object text) noexcept

cdef object _pack = msgpack.Packer().pack

cdef array.array _DOUBLES = new_array("d")
cdef enum:
    _BITS_LEFT_OUT = 49
    _NUMBERS = 1 << 64 - _BITS_LEFT_OUT
    NUMBER_BYTES = 9
    LONGEST_HEAD = 5  # bytes of an index, or in front of a short name

BITS_LEFT_OUT = _BITS_LEFT_OUT

# Scores by number; all zero between two calls.
cdef Py_ssize_t[_NUMBERS] _counts
cdef Py_ssize_t _FIRST_CAPACITY = 64


# What it refers to is plain and refers to nothing else: of a hundred thousand the garbage collector need see none.
@cython.final
@cython.freelist(64)
@cython.no_gc
cdef class Example:
    """A predicted event: its features then, and the prediction."""

    def __init__(
        self, kept, predicted, double score, long long timestamp_ms, truth=None, step=0.0, long long message_bytes=0,
        trace=b"", bytes keys=b"", bint is_provisional=False,
        str decision=None, double weight=1.0,
    ):
        self.kept = kept
        self.predicted = predicted
        self.score = score
        self.timestamp_ms = timestamp_ms
        self.truth = truth
        self.step = step
        self.message_bytes = message_bytes
        self.trace = trace
        self.keys = keys
        self.is_provisional = is_provisional
        self.decision = decision
        self.weight = weight

    @property
    def x(self):
        """The features, in the order in which they were predicted on."""
        features = self.features()
        return (<FeatureArray>features).as_dict() if isinstance(features, FeatureArray) else features

    cpdef features(self):
        """Return the features: a `FeatureArray` if they are kept as one, else a dictionary."""
        if type(self.kept) is not bytes:
            return self.kept
        return msgpack.unpackb(self.kept, strict_map_key=False)

    @property
    def content(self):
        """The features as a dictionary, or packed."""
        return (<FeatureArray>self.kept).as_dict() if isinstance(self.kept, FeatureArray) else self.kept

    cpdef long long compact(self) except? -1:
        """Pack the features of a large event; return the estimated size of the example in memory, in bytes."""
        cdef Py_ssize_t n
        if type(self.kept) is not bytes:
            n = (<FeatureArray>self.kept).n if isinstance(self.kept, FeatureArray) else len(self.kept)
            if n <= _LOOSE_FEATURES and self.message_bytes <= _LOOSE_BYTES:
                self.size_bytes = _EXAMPLE_BYTES + _FEATURE_BYTES * n + 2 * self.message_bytes
                return self.size_bytes
        return self.pack()

    cpdef long long pack(self) except? -1:
        """Pack the features; return what `compact` does."""
        if type(self.kept) is not bytes:
            self.kept = _packed(self.kept)
        self.size_bytes = _EXAMPLE_BYTES + len(self.kept)
        return self.size_bytes


cdef bytes _packed(kept):
    """Pack features; of arrays no dictionary is made."""
    cdef Py_ssize_t k, n = len(kept), size = 0
    cdef unsigned char* at
    cdef bytes packed
    cdef bint is_indexed = type(kept) is IndexedValues
    if n > 0xFFFF or not (is_indexed or type(kept) is NamedValues and _are_short((<NamedValues>kept).names, &size)):
        return _pack((<FeatureArray>kept).as_dict() if isinstance(kept, FeatureArray) else kept)
    packed = PyBytes_FromStringAndSize(NULL, 3 + size + (LONGEST_HEAD + NUMBER_BYTES) * n)
    at = <unsigned char*>PyBytes_AS_STRING(packed)
    if n <= 15:
        at[0] = 0x80 | n
        at += 1
    else:
        at[0], at[1], at[2] = 0xDE, n >> 8, n & 0xFF
        at += 3
    for k in range(n):
        if is_indexed:
            at = _pack_index(at, (<IndexedValues>kept).indices[k])
            at = _pack_number(at, (<IndexedValues>kept).numbers[k])
        else:
            at = _pack_name(at, <str>(<NamedValues>kept).names[k])
            at = _pack_number(at, (<NamedValues>kept).numbers[k])
    return packed[:at - <unsigned char*>PyBytes_AS_STRING(packed)]


cdef bint _are_short(tuple names, Py_ssize_t* size) noexcept:
    """Return whether all names are ASCII, of 255 characters at most; add up their characters."""
    cdef Py_ssize_t k
    for k in range(len(names)):
        if not PyUnicode_IS_ASCII(names[k]) or len(<str>names[k]) > 0xFF:
            return False
        size[0] += len(<str>names[k])
    return True


cdef inline unsigned char* _pack_name(unsigned char* at, str name) noexcept:
    """Write a short name of ASCII; return what is behind it."""
    cdef Py_ssize_t length = len(name)
    if length <= 31:
        at[0] = 0xA0 | length
        at += 1
    else:
        at[0], at[1] = 0xD9, length
        at += 2
    memcpy(at, PyUnicode_1BYTE_DATA(name), length)
    return at + length


cdef inline unsigned char* _pack_index(unsigned char* at, unsigned int index) noexcept:
    """Write an index in as few bytes as hold it; return what is behind it."""
    cdef int k, power = 0 if index <= 0xFF else 1 if index <= 0xFFFF else 2
    if index < 0x80:
        at[0] = index
        return at + 1
    at[0] = 0xCC + power
    for k in range(1 << power):
        at[1 + k] = index >> 8 * ((1 << power) - 1 - k) & 0xFF
    return at + 1 + (1 << power)


cdef inline unsigned char* _pack_number(unsigned char* at, double number) noexcept:
    """Write a double; return what is behind it."""
    cdef uint64_t bits
    cdef int k
    memcpy(&bits, &number, sizeof(bits))
    at[0] = 0xCB
    for k in range(8):
        at[1 + k] = bits >> 8 * (7 - k) & 0xFF
    return at + NUMBER_BYTES


cpdef Example make_example(
    kept, predicted, double score, long long timestamp_ms, step=0.0, long long message_bytes=0, bytes trace=b""
):
    """Make an example that has no truth yet."""
    cdef Example made = Example.__new__(Example)
    made.kept = kept
    made.predicted = predicted
    made.score = score
    made.timestamp_ms = timestamp_ms
    made.step = step
    made.message_bytes = message_bytes
    made.trace = trace
    made.keys = b""
    made.weight = 1.0
    return made


_fields = attrgetter("content", "predicted", "score", "timestamp_ms", "truth", "step", "message_bytes", "trace")


def fields_of(Example example):
    """Return the fields of an example, in order; of the last four, those up to the last that it has."""
    found = _fields(example)
    if example.weight != 1.0:
        return (*found, example.keys, example.is_provisional, example.decision, example.weight)
    if example.decision is not None:
        return (*found, example.keys, example.is_provisional, example.decision)
    if example.is_provisional:
        return (*found, example.keys, True)
    return (*found, example.keys) if example.keys else found


@cython.final
@cython.no_gc
cdef class LearnedExamples:
    """The examples that a batch learned, in order: a sequence of their labelled predictions."""

    def __init__(self, steps=(), *, bint has_log_odds=False, tuple parts=()):
        cdef LearnedRow* row
        self.parts = parts
        self.has_log_odds, self.corrections = has_log_odds, []
        for step in steps:
            row = self.add(step.event_id, make_example(step.x, step.predicted, step.score, 0), step.truth)
            row.mistake = step.mistake
            row.updates = step.updates
            if step.label_delay_seconds is not None:
                row.label_delay_seconds = step.label_delay_seconds
            if step.log_odds is not None:
                row.log_odds = step.log_odds
                self.has_log_odds = True
            self.n_mistakes += row.mistake

    def __dealloc__(self):
        cdef Py_ssize_t k
        for k in range(self.n):
            Py_DECREF(<object>self.rows[k].event_id)
            Py_DECREF(<object>self.rows[k].example)
            Py_DECREF(<object>self.rows[k].truth)
        PyMem_Free(self.rows)

    def __len__(self):
        return self.n

    def __getitem__(self, place):
        """Return a labelled prediction, or some of them."""
        if isinstance(place, slice):
            return LearnedExamples([_step(&self.rows[k]) for k in range(*place.indices(self.n))])
        cdef Py_ssize_t at = place
        if at < 0:
            at += self.n
        if not 0 <= at < self.n:
            raise IndexError("list index out of range")
        return _step(&self.rows[at])

    def __iter__(self):
        cdef Py_ssize_t k
        for k in range(self.n):
            yield _step(&self.rows[k])

    cdef LearnedRow* add(self, event_id, Example example, truth) except NULL:
        """Add a row; the caller says the mistake and the updates."""
        cdef LearnedRow* row
        if self.n == self._capacity:
            capacity = 2 * self._capacity if self._capacity else _FIRST_CAPACITY
            row = <LearnedRow*>PyMem_Realloc(self.rows, <size_t>capacity * sizeof(LearnedRow))
            if row == NULL:
                raise MemoryError
            self.rows, self._capacity = row, capacity
        row = &self.rows[self.n]
        Py_INCREF(event_id)
        Py_INCREF(example)
        Py_INCREF(truth)
        row.event_id, row.example, row.truth = <PyObject*>event_id, <PyObject*>example, <PyObject*>truth
        row.score, row.label_delay_seconds, row.log_odds = example.score, NAN, NAN
        row.updates, row.mistake = 0, False
        self.n += 1
        return row

    cpdef note(self, event_id, Example example, truth, change, long long updates, double label_delay_seconds=NAN):
        """Note an example's truth, the change that learning it made, and how its prediction turned out."""
        cdef LearnedRow* row
        cdef Part part
        example.step, example.truth = change, truth
        predicted = example.predicted
        cdef double log_odds = NAN
        cdef bint mistake
        if _is_of_two(predicted):
            mistake = predicted is not truth if _is_of_two(truth) else predicted != truth
            if self.has_log_odds:
                log_odds = fabs(example.score)
        else:
            mistake = predicted != truth
            if self.has_log_odds:
                log_odds = log_odds_of(predicted, example.score)
        row = self.add(event_id, example, truth)
        row.mistake, row.updates = mistake, updates
        row.label_delay_seconds, row.log_odds = label_delay_seconds, log_odds
        self.n_mistakes += mistake
        for part in self.parts:
            part.learned(example, None, truth)

    cpdef correct(self, Example example, truth, change):
        """Note another truth of an example, and the change that learning it made."""
        cdef Part part
        log_odds = log_odds_of(example.predicted, example.score) if self.has_log_odds else None
        self.corrections.append(
            Correction(self.n, example.predicted, example.score, log_odds, example.truth, truth, example)
        )
        for part in self.parts:
            part.learned(example, example.truth, truth)
        example.step, example.truth = change, truth

    def mistakes(self):
        """Return whether each prediction was wrong."""
        cdef list found = PyList_New(self.n)
        cdef Py_ssize_t k
        for k in range(self.n):
            _put(found, k, True if self.rows[k].mistake else False)
        return found

    def truths(self):
        """Return each label."""
        cdef list found = PyList_New(self.n)
        cdef Py_ssize_t k
        for k in range(self.n):
            _put(found, k, <object>self.rows[k].truth)
        return found

    def predictions(self):
        """Return each predicted class."""
        cdef list found = PyList_New(self.n)
        cdef Py_ssize_t k
        for k in range(self.n):
            _put(found, k, (<Example>self.rows[k].example).predicted)
        return found

    def scores(self):
        """Return each score."""
        cdef array.array found = array.clone(_DOUBLES, self.n, False)
        cdef Py_ssize_t k
        for k in range(self.n):
            found.data.as_doubles[k] = self.rows[k].score
        return found

    def scores_of(self, truth):
        """Return the scores of the examples of one of two classes."""
        cdef array.array found = array.clone(_DOUBLES, self.n, False)
        cdef Py_ssize_t k, n = 0
        for k in range(self.n):
            if self.rows[k].truth == <PyObject*>truth:
                found.data.as_doubles[n] = self.rows[k].score
                n += 1
        array.resize(found, n)
        return found

    def margins(self):
        """Return y·a of each example of one of two classes: negative where the prediction was wrong."""
        cdef array.array found = array.clone(_DOUBLES, self.n, False)
        cdef double score
        cdef Py_ssize_t k, n = 0
        for k in range(self.n):
            if _is_of_two(<object>self.rows[k].truth):
                score = self.rows[k].score
                found.data.as_doubles[n] = score if <object>self.rows[k].truth is True else -score
                n += 1
        array.resize(found, n)
        return found

    def label_delays(self):
        """Return the delays of the labels that came later, in seconds."""
        cdef array.array found = array.clone(_DOUBLES, self.n, False)
        cdef Py_ssize_t k, n = 0
        for k in range(self.n):
            if self.rows[k].label_delay_seconds == self.rows[k].label_delay_seconds:
                found.data.as_doubles[n] = self.rows[k].label_delay_seconds
                n += 1
        array.resize(found, n)
        return found

    def log_odds(self):
        """Return the log-odds of each predicted class; None where the learner's scores are none."""
        return [_or_none(self.rows[k].log_odds) for k in range(self.n)]

    def cells(self):
        """Return 2·truth + prediction of each; None where one of them is not one of two classes."""
        cdef bytearray found = bytearray(self.n)
        cdef unsigned char* codes = found
        cdef Py_ssize_t k
        for k in range(self.n):
            truth, predicted = <object>self.rows[k].truth, (<Example>self.rows[k].example).predicted
            if not (_is_of_two(truth) and _is_of_two(predicted)):
                return None
            codes[k] = 2 * (truth is True) + (predicted is True)
        return bytes(found)

    def since_last_update(self):
        """Return the steps from the last update of the model on, of labels that came with their events."""
        cdef Py_ssize_t k, latest = -1
        cdef list found = []
        for k in range(self.n - 1, -1, -1):
            if self.rows[k].label_delay_seconds == self.rows[k].label_delay_seconds:
                continue
            if latest < 0:
                latest = k
            if self.rows[k].updates != self.rows[latest].updates:
                break
            found.append(_step(&self.rows[k]))
        found.reverse()
        return found


Sequence.register(LearnedExamples)


def count_numbers(array.array scores):
    """Return the numbers of the scores' bins, in the order in which they come first, and the scores in each."""
    cdef Py_ssize_t k
    cdef long long number
    cdef list numbers = []
    try:
        for k in range(len(scores)):
            number = _number(scores.data.as_doubles[k])
            if not _counts[number & _NUMBERS - 1]:
                numbers.append(number)
            _counts[number & _NUMBERS - 1] += 1
        return [(each, _counts[<long long>each & _NUMBERS - 1]) for each in numbers]
    finally:
        for each in numbers:
            _counts[<long long>each & _NUMBERS - 1] = 0


cdef long long _number(double score) noexcept:
    """Return the first bits of a double; those of 0 for −0."""
    cdef long long bits
    score += 0.0
    memcpy(&bits, &score, sizeof(bits))
    return bits >> _BITS_LEFT_OUT


Observer = Callable[[LearnedExamples], None]


cdef bint _is_of_two(truth) noexcept:
    """Return whether a class is one of two, which have no names."""
    return truth is True or truth is False


cdef _put(list found, Py_ssize_t place, what):
    Py_INCREF(what)
    PyList_SET_ITEM(found, place, what)


cdef _or_none(double number):
    """Return None for NaN."""
    return number if number == number else None


cdef _step(LearnedRow* row):
    cdef Example example = <Example>row.example
    return Step(
        <object>row.event_id, example.x, row.score, example.predicted, <object>row.truth, row.mistake != 0, row.updates,
        _or_none(row.label_delay_seconds), _or_none(row.log_odds),
    )
