"""The fast engine: does what `Processor` does, for records of the common case, in C types.

The common case: the native schema, a linear learner of two classes, a new event or the label of a pending
event. Other records are left to the processor; only the event time is advanced already.
"""

cimport cython

from perceptron_core.linear.linear_rule cimport LinearRule
from perceptron_core.weights.example cimport Example as Resolved
from service.stream.batches cimport RecordBatch
from service.messages.event_reader cimport EventReader
from service.messages.features cimport FeatureExtractor
from service.messages.labels cimport Vocabulary
from service.partition.output_writer cimport OutputWriter
from service.partition.examples cimport Example, LearnedExamples
from service.partition.label_join cimport LabelJoin
from service.partition.label_learner cimport LabelLearner, own_weight
from service.partition.parts.part cimport Part

from perceptron_core import LearnerError
from service.messages.labels import UnknownLabelError

cdef enum:
    TURN = 64  # records: tenths of a millisecond


@cython.final
cdef class FastPath:
    """Processes records of the common case.

    Parameters
    ----------
    learner
        A `BinaryLearner` that has a rule.
    decoder, extractor
        Of the native schema.
    labels
        Handles the uncommon cases of labels.
    predicting
        The parts that take predictions; none of them needs the events.
    yield_to_threads
        Called every few tenths of a millisecond; never compiled.

    """

    cdef object _learner
    cdef LabelLearner _labels
    cdef tuple _predicting
    cdef object _yield_to_threads
    cdef object _counts
    cdef Vocabulary _vocabulary
    cdef long long _max_message_bytes
    cdef FeatureExtractor _extractor
    cdef EventReader _reader
    cdef LabelJoin _join
    cdef OutputWriter _writer
    # State of the present batch.
    cdef RecordBatch _batch
    cdef LinearRule _rule
    cdef LearnedExamples _learned
    cdef long long _earliest_ms
    cdef long long _latest_ms
    cdef Py_ssize_t _n_predictions

    def __init__(self, learner, decoder, extractor, LabelLearner labels, tuple predicting, yield_to_threads):
        self._learner, self._labels, self._predicting = learner, labels, predicting
        self._yield_to_threads = yield_to_threads
        self._join, self._writer = labels.join, labels.writer
        self._vocabulary, self._max_message_bytes = decoder.vocabulary, decoder.max_message_bytes
        self._extractor = extractor
        self._reader = EventReader()

    def begin(self, RecordBatch batch, LearnedExamples learned, long long earliest_ms, long long latest_ms):
        """Begin a batch; event times must lie between the earliest and the latest."""
        self._batch, self._learned = batch, learned
        self._earliest_ms, self._latest_ms = earliest_ms, latest_ms
        self._rule, self._counts = self._learner.rule, self._labels.counters.labels
        self._n_predictions = 0

    def end(self):
        """Return how many predictions were made in the batch."""
        self._batch = self._learned = None
        return self._n_predictions

    cpdef Py_ssize_t process_from(self, Py_ssize_t index) except -1:
        """Process records from `index` on; return the position of the first that is left to the processor."""
        while index < self._batch.n:
            try:
                if not self._process(index):
                    break
            except (LearnerError, UnknownLabelError):  # the processor fails in the same way and reports why
                break
            index += 1
            if not index % TURN:
                self._yield_to_threads()
        return index

    cdef bint _process(self, Py_ssize_t index) except -1:
        """Process a record; return False if it is left to the processor."""
        cdef long long timestamp_ms = self._batch.entries[index].timestamp_ms
        cdef Py_ssize_t size = self._batch.size(index)
        cdef EventReader reader = self._reader
        if not self._earliest_ms <= timestamp_ms <= self._latest_ms:
            return False
        self._labels.advance(timestamp_ms)
        if size == 0 or size > self._max_message_bytes or not reader.read_at(self._batch.data(index), size):
            return False
        truth = reader.label
        if truth is not None and type(truth) is not bool:
            truth = self._vocabulary.truth(truth)
        if reader.features is None and reader.text is None:
            return truth is not None and self._receive_label(reader.id, truth, timestamp_ms)
        return self._receive_event(reader.id, truth, timestamp_ms, size)

    cdef bint _receive_event(self, str event_id, truth, long long timestamp_ms, Py_ssize_t size) except -1:
        """Predict a new event, learn it if it has a label, and keep it."""
        cdef LabelJoin join = self._join
        cdef LinearRule rule = self._rule
        cdef long long updates = rule.n_updates
        cdef double score, step = 0.0, weight = own_weight(self._reader.weight, 1.0)
        cdef Resolved resolved
        cdef Example example
        cdef bint predicted
        cdef Part part
        cdef bytes fields = b""
        if join.examples.get(event_id) is not None or join.early and event_id in join.early:
            return False
        x = self._extractor.extract_values(self._reader.features, self._reader.text)
        resolved = rule.resolve(x)
        score = rule.score(resolved)
        if truth is not None and weight > 0.0:
            step = rule.learn_at(resolved, 1 if truth is True else -1, weight, score)
        rule.table.release(resolved)
        predicted = rule.predicts_true(score)
        example = Example(event_id, x, predicted, score, timestamp_ms, size)
        example.weight = weight
        for part in self._predicting:
            fields += part.on_event(example, None, timestamp_ms, True)
        if truth is not None:
            self._learned.note(example, truth, step, rule.n_updates)
            self._writer.follow(self._reader.label)
        join.keep(example)
        self._n_predictions += 1
        self._writer.write_prediction(example, updates, truth, fields)
        return True

    cdef bint _receive_label(self, str event_id, truth, long long timestamp_ms) except -1:
        """Learn the label of a pending event, and write its outcome."""
        cdef Example example = self._join.examples.get(event_id)
        cdef LinearRule rule = self._rule
        cdef Resolved resolved
        cdef double delay_seconds, weight, step = 0.0
        if example is None or example.truth is not None or self._join.delays is not None:
            return False
        self._writer.follow(self._reader.label)
        weight = own_weight(self._reader.weight, example.weight)
        resolved = rule.resolve(example.features())
        if weight > 0.0:
            step = rule.learn(resolved, 1 if truth is True else -1, weight)
        rule.table.release(resolved)
        example.weight = weight
        delay_seconds = (timestamp_ms - example.timestamp_ms) / 1000.0
        self._learned.note(example, truth, step, rule.n_updates, delay_seconds)
        self._join.stop_waiting(example)
        self._counts["matched"] += 1
        self._writer.write_outcome(example, truth, delay_seconds)
        return True
