"""`perceptron replay`: a prequential run over a file. No stream, no server; the same processor as `serve`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter
from typing import Final

import click

from service.assembly import make_processor
from service.cli.app import report
from service.cli.options import LEARNING, SourceOptions, setting_options, source_options
from service.cli.progress import ProgressTable, progress_bar
from service.cli.summary import summary_text
from service.errors import InputFileError
from service.evaluation import Evaluation, summarise
from service.model_file import refuse_pickle, write_atomically
from service.processor import Processor, Step
from service.settings import Loaded, Settings
from service.sources import Source
from service.transport.base import Output, Record
from service.vocabulary import Truth

_REJECTIONS_SHOWN: Final = 3


@click.command()
@source_options
@setting_options(*LEARNING, "label_timeout_seconds", "max_pending")
@click.option(
    "--format", "output", type=click.Choice(["text", "json"]), default="text", help="Form of the summary."
)
@click.option(
    "--save",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the model to FILE at the end; `perceptron inspect` shows it.",
)
def command(source_of: SourceOptions, loaded: Loaded, output: str, save: Path | None) -> None:
    """Predict and learn over FILE (- for stdin), one event after the other, and count the mistakes.

    Each event is predicted first and learned from afterwards (prequential evaluation), exactly as `serve`
    does it. While it runs, a row appears at 1, 2, 4, 8, … labelled events; the summary follows.
    """
    settings = loaded.settings
    evaluation = Evaluation()
    with (
        source_of(classes=settings.classes) as source,
        progress_bar(source, "replay") as (messages, write_line),
    ):
        run = _Replay(settings, evaluation, write_line)
        if save:
            refuse_pickle(run.processor.learner)  # now, not after the work
        began = perf_counter()
        run.feed(source, messages)
        seconds = perf_counter() - began
    learner = run.processor.learner
    summary = summarise(run.processor.counters, learner, evaluation, seconds)
    if not summary["events"] and summary["rejected"]:
        raise InputFileError(
            f"{source.name}: none of {summary['rejected']} messages could be used", hint=run.hint()
        )
    if save:
        write_atomically(save, learner.dump())
        report("saved", "green", f"the model to {save}")
    click.echo(json.dumps(summary) if output == "json" else summary_text(summary, learner))


class _Replay:
    """One run over one file."""

    def __init__(self, settings: Settings, evaluation: Evaluation, write_line: Callable[[str], None]) -> None:
        self.processor: Processor = make_processor(settings, self._observe)
        self._settings = settings
        self._evaluation = evaluation
        self._write_line = write_line
        self._table = ProgressTable(write_line)

    def feed(self, source: Source, messages: Iterable[bytes]) -> None:
        """Process every message; event time stands still, as a file has none."""
        topics = self._settings.events_topic, self._settings.dead_letters_topic
        for offset, value in enumerate(messages):
            for answer in self.processor.process(Record(topics[0], 0, offset, 0, None, value)):
                if answer.topic == topics[1]:
                    self._show_rejection(source.place, answer)
        counters = self.processor.counters
        self._table.finish(counters.labelled, counters.mistakes)

    def hint(self) -> str:
        """Say what to try when no message could be used."""
        if "unknown_label" in self.processor.counters.rejected:
            return "name the classes, the negative one first: --classes ham,spam"
        return "`perceptron schema event` shows what is expected; --input-format says how to read the file"

    def _observe(self, step: Step) -> None:
        self._evaluation.observe(step)
        counters = self.processor.counters
        if counters.labelled >= self._table.next_row:
            self._table.example(
                counters.labelled,
                counters.mistakes,
                step.score,
                self._named(step.truth),
                self._named(step.predicted),
                step.n_features,
            )

    def _named(self, truth: Truth) -> Truth:
        classes = self._settings.classes
        return classes[truth] if classes and isinstance(truth, bool) else truth

    def _show_rejection(self, place: str, letter: Output) -> None:
        shown = self.processor.counters.rejected.total()
        if shown <= _REJECTIONS_SHOWN:
            headers = dict(letter.headers)
            reason, message = headers["error.reason"].decode(), headers["error.message"].decode()
            report("rejected", "yellow", f"{place}: {reason}: {message}")
        elif shown == _REJECTIONS_SHOWN + 1:
            report("rejected", "yellow", "more; the summary counts them by reason")
