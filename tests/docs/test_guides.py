"""What the guides say that derived features and windows gain, they gain."""

import re
from pathlib import Path

import pytest

from service.files.columns import Columns
from service.files.input_files import InputFiles, TopicFile, mapping_of
from service.files.sources import open_source
from service.partition.factory import for_file, make_processor
from service.settings.load import load_settings
from tests.docs.documents import ROOT, blocks

GUIDES = {
    "bots": ["access.ndjson"],
    "triage": ["issues.ndjson"],
    "sensors": ["readings.ndjson", "alarms.ndjson"],
}
ROW = re.compile(r"^\| `(\S+)` \| (\d+) \| (\d+) \| (\S+) \| (\S+) \|$", re.MULTILINE)

pytestmark = pytest.mark.slow


def average_precision(found):
    """Return that of (score, whether it is true), the highest score first."""
    n_true, total = 0, 0.0
    for rank, (_, is_true) in enumerate(sorted(found, key=lambda each: -each[0]), start=1):
        n_true += is_true
        total += is_true * n_true / rank
    return total / n_true


def replayed(config, files, model, *, plain):
    """Return the mistakes in files, and the average precision of their scores."""
    settings = for_file(load_settings({"model": model}, Path(config)).settings)
    if plain:
        events = settings.events.model_copy(update={"derive": (), "windows": ()})
        settings = settings.model_copy(update={"events": events})
    found = []

    def observe(learned):
        pairs = zip(learned.scores(), learned.truths, learned.predictions(), strict=True)
        found.extend(
            (score, truth if isinstance(truth, bool) else truth == predicted)
            for score, truth, predicted in pairs
        )

    processor = make_processor(settings, observe)
    tables = (settings.events, settings.events_topic), (settings.labels, settings.labels_topic)
    opened = [
        TopicFile(open_source(file, columns=Columns(mapping=mapping_of(table))), topic, table.timestamp)
        for file, (table, topic) in zip(files, tables, strict=False)
    ]
    with InputFiles(*opened) as records:
        processor.process_batch([*records])
    return processor.counters.mistakes, average_precision(found)


@pytest.mark.parametrize("guide", GUIDES)
def test_table_matches_measured_mistakes_and_average_precision(guide, empty_folder):
    page = ROOT / "docs" / "tutorials" / f"{guide}.md"
    for block in blocks(page):
        if block.language == "python":
            exec(compile(block.code, guide, "exec"), {})
        elif block.mark.startswith("file: "):
            (empty_folder / block.mark.removeprefix("file: ")).write_text(block.code, encoding="utf-8")
    rows = ROW.findall(page.read_text(encoding="utf-8"))
    assert [model for model, *_ in rows] == ["perceptron", "auto"]
    for model, *shown in rows:
        (without, least), (mistakes, most) = (
            replayed(f"{guide}.toml", GUIDES[guide], model, plain=plain) for plain in (True, False)
        )
        assert [str(without), str(mistakes), f"{least:.3f}", f"{most:.3f}"] == shown
