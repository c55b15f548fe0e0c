"""Examples that wait for their labels: the compiled form of `example.py`, which says what it means."""

cimport cython

from operator import attrgetter

import msgpack

from perceptron_core.weights.feature_array cimport FeatureArray

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
    """A predicted event: its features then, and the prediction."""

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
            self.kept = _pack(self.x)
        self.size_bytes = _EXAMPLE_BYTES + len(self.kept)
        return self.size_bytes


cpdef Example make_example(kept, predicted, double score, step):
    """Make an example; the caller sets its time, its trace and the bytes of its message."""
    cdef Example made = Example.__new__(Example)
    made.kept = kept
    made.predicted = predicted
    made.score = score
    made.step = step
    made.trace = b""
    return made


fields_of = attrgetter("content", "predicted", "score", "timestamp_ms", "truth", "step", "message_bytes", "trace")
