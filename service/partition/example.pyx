"""What is kept of an event for its label: the compiled form of `example.py`, which says what it means."""

cimport cython

from operator import attrgetter

import msgpack

cdef long long _EXAMPLE_BYTES = 512
cdef long long _FEATURE_BYTES = 128
cdef Py_ssize_t _LOOSE_FEATURES = 256
cdef long long _LOOSE_BYTES = 4096
cdef object _pack = msgpack.Packer().pack


# What it refers to is plain and refers to nothing else: of a hundred thousand the garbage collector need see none.
@cython.final
@cython.freelist(64)
@cython.no_gc
cdef class Example:
    """An event that was predicted, as it was at that time."""

    def __init__(
        self, kept, predicted, double score, long long timestamp_ms, truth=None, step=0.0, long long message_bytes=0,
        trace=b"",
    ):
        self.kept = kept
        self.predicted = predicted
        self.score = score
        self.timestamp_ms = timestamp_ms
        self.truth = truth
        self.step = step
        self.message_bytes = message_bytes
        self.trace = trace

    @property
    def x(self):
        """The features, in the order in which they were predicted on."""
        return self.kept if isinstance(self.kept, dict) else msgpack.unpackb(self.kept, strict_map_key=False)

    cpdef long long compact(self) except -1:
        """Pack the features of a large event; return the estimated size of the example in memory, in bytes."""
        if isinstance(self.kept, dict):
            if len(<dict>self.kept) <= _LOOSE_FEATURES and self.message_bytes <= _LOOSE_BYTES:
                self.size_bytes = _EXAMPLE_BYTES + _FEATURE_BYTES * len(<dict>self.kept) + 2 * self.message_bytes
                return self.size_bytes
            self.kept = _pack(self.kept)
        self.size_bytes = _EXAMPLE_BYTES + len(self.kept)
        return self.size_bytes


cpdef Example make_example(
    kept, predicted, double score, long long timestamp_ms, step, long long message_bytes, trace
):
    """Make an example whose label is not known."""
    cdef Example made = Example.__new__(Example)
    made.kept = kept
    made.predicted = predicted
    made.score = score
    made.timestamp_ms = timestamp_ms
    made.step = step
    made.message_bytes = message_bytes
    made.trace = trace
    return made


fields_of = attrgetter("kept", "predicted", "score", "timestamp_ms", "truth", "step", "message_bytes", "trace")
