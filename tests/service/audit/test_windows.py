"""Windows by key: the proof holds over them, and recovery comes to the state of an undisturbed run."""

from perceptron_core.formats.packed import pack
from service.loop.recovery import restore
from service.partition.factory import make_processor
from service.settings.mapping import EventSettings
from tests.service.audit.audited_stream import produce

WINDOW = {
    "by": "card",
    "over": ["10s", "1h"],
    "of": {"n": "sum,std,distinct", "@event": "count", "@label": "rate"},
}
EVENTS = EventSettings(features="n", windows=[{**WINDOW, "max_keys": 2}])


def test_what_was_done_with_windows_is_proved_and_restored(open_stream):
    stream = open_stream(events=EVENTS, snapshot_interval_records=7)
    for start in range(0, 40, 10):
        produce(stream, *({"id": f"e{n}", "card": f"c{n % 3}", "n": n / 3} for n in range(start, start + 10)))
        produce(stream, {"id": f"bad{start}", "card": [], "n": 1}, b"junk")
        produce(
            stream, *({"id": f"e{n}", "label": n % 2 == 0} for n in range(start, start + 9)), topic="labels"
        )
        stream.run()
    report = stream.audit()
    assert report.is_proved, report.findings
    assert (report.predictions, report.outcomes, report.dead_letters) == (40, 36, 8)
    restored = restore(stream.transport, stream.settings, 0).processor
    assert restored.parts()[-1].counts()["window_keys_dropped"] > 0
    again = make_processor(stream.settings)
    again.restore(restored.state())
    assert pack(again.state()) == pack(restored.state())
