"""Batches in step: the compiled form of `in_step.py`, which says what it means."""

from service.batches.record_batch cimport RecordBatch


def in_step(batches):
    """Merge batches by event time; each keeps its own order, and at equal times earlier batches come first."""
    cdef list sources = [each for each in batches if len(each)]
    cdef RecordBatch merged = RecordBatch(), source, first
    cdef list places = [0] * len(sources)
    cdef Py_ssize_t k, at, best, end
    cdef long long best_time = 0, limit
    cdef bint is_before
    if len(sources) == 1:
        return sources[0]
    for source in sources:
        merged.share(source)
    while sources:
        best = -1
        for k in range(len(sources)):
            source, at = sources[k], places[k]
            if best < 0 or source.entries[at].timestamp_ms < best_time:
                best, best_time = k, source.entries[at].timestamp_ms
        # From there on all that comes before the first of every other batch.
        first, at = sources[best], places[best]
        end = at + 1
        while end < first.n:
            is_before = True
            for k in range(len(sources)):
                if k == best:
                    continue
                source = sources[k]
                limit = source.entries[<Py_ssize_t>places[k]].timestamp_ms
                if first.entries[end].timestamp_ms > limit or (first.entries[end].timestamp_ms == limit and k < best):
                    is_before = False
                    break
            if not is_before:
                break
            end += 1
        merged.copy_entries(first, at, end - at, 1)
        places[best] = end
        if end == first.n:
            del sources[best], places[best]
    return merged
