"""Windows by key as a loop over all events that ever came: no cells, no columns, no lists through them."""

import math
from collections import OrderedDict
from itertools import count

CELLS = 16


def cell_of(at_ms, span_ms):
    return CELLS * at_ms // span_ms


class LoopWindow:
    """Keeps every event of every key; as `Window`, with all aggregates of one number and of one hash."""

    def __init__(self, spans_ms, max_keys):
        self.spans_ms = spans_ms
        self.max_keys = max_keys
        self.keys = OrderedDict()
        self.n_late = 0
        self._numbers = count()

    def take(self, key, at_ms, number, digest):
        """Count an event; return a number for it."""
        if key not in self.keys and len(self.keys) == self.max_keys:
            self.keys.popitem(last=False)
        events = self.keys.setdefault(key, [])
        self.keys.move_to_end(key)
        newest_ms = max([at_ms, *(event["at_ms"] for event in events)])
        kept = {span: self.exists(at_ms, newest_ms, span) for span in self.spans_ms}
        self.n_late += not all(kept.values())
        place = next(self._numbers)
        events.append(
            {"place": place, "at_ms": at_ms, "number": number, "digest": digest, "kept": kept, "truth": None}
        )
        return place

    def learn(self, key, place, truth):
        """Say the truth about an event, which may be another than before."""
        for event in self.keys.get(key, ()):
            if event["place"] == place:
                event["truth"] = truth

    @staticmethod
    def exists(at_ms, newest_ms, span_ms):
        return cell_of(at_ms, span_ms) >= cell_of(newest_ms, span_ms) - CELLS

    def covered(self, key, at_ms, span_ms):
        """Return the events that a value covers."""
        events = self.keys.get(key, [])
        if not events:
            return []
        newest_ms = max(event["at_ms"] for event in events)
        last = cell_of(at_ms, span_ms)
        return [
            event
            for event in events
            if event["kept"][span_ms]
            and self.exists(event["at_ms"], newest_ms, span_ms)
            and last - CELLS <= cell_of(event["at_ms"], span_ms) <= last
        ]

    def values(self, key, at_ms):
        """Return the features of an event, without those that have no value."""
        found = {}
        for span_ms in self.spans_ms:
            events = self.covered(key, at_ms, span_ms)
            numbers = [event["number"] for event in events if event["number"] is not None]
            truths = [event["truth"] for event in events if event["truth"] is not None]
            n = len(numbers)
            found |= {
                f"events_{span_ms}": len(events),
                f"count_{span_ms}": n,
                f"distinct_{span_ms}": distinct(event["digest"] for event in events if event["digest"]),
            }
            if truths:
                found[f"rate_{span_ms}"] = sum(truths) / len(truths)
            if n:
                mean = math.fsum(numbers) / n
                found |= {
                    f"sum_{span_ms}": math.fsum(numbers),
                    f"mean_{span_ms}": mean,
                    f"min_{span_ms}": min(numbers),
                    f"max_{span_ms}": max(numbers),
                    f"std_{span_ms}": math.sqrt(math.fsum((x - mean) ** 2 for x in numbers) / n),
                }
        if key in self.keys:
            newest_ms = max(event["at_ms"] for event in self.keys[key])
            if at_ms >= newest_ms:
                found["since"] = (at_ms - newest_ms) / 1000
        return found


def distinct(digests):
    """Estimate how many there are, with HyperLogLog as its paper has it, from bits written out."""
    registers = [0] * 64
    for digest in digests:
        bits = format(digest % 2**64, "064b")
        register, rest = int(bits[-6:], 2), bits[:-6][::-1]
        registers[register] = max(registers[register], (rest + "1").index("1") + 1)
    estimate = 0.709 * 64**2 / sum(2.0**-rank for rank in registers)
    empty = registers.count(0)
    return 64 * math.log(64 / empty) if estimate <= 160 and empty else estimate
