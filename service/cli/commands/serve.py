"""`perceptron serve` and `relay`: the loop and the webhooks, which run until a signal."""

from __future__ import annotations

import gc
import logging
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Final

import click

from service.cli.help import SettingsCommand
from service.cli.options import LEARNING, REGISTRY, SERVICE, STREAM, broker_url, setting_options
from service.cli.output import report_data_warnings, report_progress, report_warning
from service.errors import INTERRUPTED, ConfigurationError, ServiceError
from service.loop.stopping import StopRequest, stopping
from service.monitoring.health import Health
from service.settings.load import Loaded, Settings, option_settings
from service.settings.parts import WebhookSettings

if TYPE_CHECKING:
    from service.monitoring.live_models import LiveModels
    from service.monitoring.metrics import Metrics, Published

_log = logging.getLogger(__name__)

# Modules for a run are imported when it starts, so that the help is quick.


@click.command(cls=SettingsCommand)
@setting_options(
    *SERVICE,
    *LEARNING,
    *REGISTRY,
    *(name for name in option_settings() if not name.startswith("kafka.")),
    logs=True,
)
@click.option(
    "--exit-at-end",
    is_flag=True,
    help="Process existing records, then exit; exit code 1 if no partition was free or the disk is full.",
)
def serve_command(loaded: Loaded, *, exit_at_end: bool) -> None:
    """Read events, predict, learn on mistakes: until stopped, or to the end with --exit-at-end.

    Every event gets one prediction on the predictions topic, every rejected message one dead letter. A
    batch of predictions, the model's checkpoint and the input offsets are committed in one transaction: a
    killed process resumes as if nothing had happened. SIGTERM and Ctrl-C finish and commit the batch, then
    exit. The live page is at /, the API is described at /docs, metrics are at /metrics, probes at /livez and
    /readyz.

    Start more processes with the same --group to share the partitions of a Kafka topic, up to one for each
    partition.

    \b
    For example:
      perceptron serve --broker kafka://localhost:9092 --model auto
    """  # noqa: D301 - \b is click's mark for lines to be left as they are
    with stopping() as request:
        settings = loaded.settings
        health = Health(ready_timeout_seconds=settings.ready_timeout_seconds)
        loop = partial(_run, loaded, request, health, exit_at_end=exit_at_end)
        states = request.run(loop, lambda: health.waiting_since)
        is_end = exit_at_end and not request.is_received
        _report(states.values(), settings, is_end=is_end)
    if is_end:
        _reject_nothing_owned(states, settings)
    if request.is_interrupt:
        sys.exit(INTERRUPTED)


def _run(
    loaded: Loaded, request: StopRequest, health: Health, *, exit_at_end: bool
) -> Mapping[int, Published]:
    """Run the loop; return the state of each partition."""
    from prometheus_client import CollectorRegistry  # noqa: PLC0415

    from service.loop.context import Context  # noqa: PLC0415
    from service.loop.runner import Runner  # noqa: PLC0415
    from service.monitoring.live_models import LiveModels  # noqa: PLC0415
    from service.monitoring.metrics import Metrics  # noqa: PLC0415
    from service.partition.factory import make_processor, open_stream  # noqa: PLC0415

    settings, url = loaded.settings, broker_url(loaded)
    if settings.hash_key.get_secret_value() and not settings.hash_key_bytes:
        _log.warning("hash_key has no effect without hash_bits and events.tenant")
    make_processor(settings).learner.dump()  # reports a model that cannot be made or saved
    metrics, live = Metrics(CollectorRegistry()), LiveModels(settings)
    with _http_server(settings, health, metrics, live) as address:
        with health.waiting_for_stream():
            transport = open_stream(settings, url)
        try:
            tune_process()
            where = f", {address}" if address else ""
            report_progress(f"serving {url}, model {settings.model}{where}")
            runner = Runner(Context(transport, settings, metrics, health, live))
            request.handle_with(runner.stop)
            runner.run(exit_at_end=exit_at_end)
        finally:
            with health.waiting_for_stream():  # clients wait for a broker that is gone
                transport.close()
    return metrics.last_published


@contextmanager
def _http_server(settings: Settings, health: Health, metrics: Metrics, live: LiveModels) -> Iterator[str]:
    """Run the HTTP server during the context; yield its URL, empty without a server."""
    if not settings.http:
        yield ""
        return
    from service.web.app import make_app  # noqa: PLC0415  the web framework takes long to import
    from service.web.server import http_server  # noqa: PLC0415

    if not settings.is_on_loopback and not settings.http_token.get_secret_value():
        _log.warning(
            "http: other machines can reach %s, and http_token is not set: anyone can send requests%s",
            settings.http,
            "" if settings.takes_inputs else "; POST is disabled, as http_hosts is not set",
        )
    app = make_app(settings, health, metrics, live)
    with http_server(app, settings.http) as url:
        yield url


def _reject_nothing_owned(states: Mapping[int, Published], settings: Settings) -> None:
    """Raise `ServiceError` if no partition was owned, so that no settings were checked."""
    if not states:
        raise ServiceError(
            f"the group {settings.group!r} has other owners of all partitions of {settings.events_topic!r}",
            hint="stop one of them, or start at most as many processes as there are partitions",
        )


def _report(states: Collection[Published], settings: Settings, *, is_end: bool) -> None:
    """Report the totals on stderr, and results that may mislead. The exit code stays 0: all is committed."""
    from service.messages.labels import TrueLabel, Vocabulary  # noqa: PLC0415
    from service.monitoring.metrics import warnings_of_labels  # noqa: PLC0415
    from service.partition.parts import counters  # noqa: PLC0415

    tallies = [each.counters for each in states]
    done = counters.Totals.sum_of(tally.totals() for tally in tallies)
    events, labelled, _, rejected, skipped, *_ = done
    mistakes, kinds = done.mistakes + done.revised, counters.format_labels(done.labels())
    error = f", error {mistakes / labelled:.4f}" if labelled else ""
    left_out = f", {skipped} skipped" if skipped else ""
    report_progress(
        f"stopped: {events} events, {labelled} labelled{kinds}, {mistakes} mistakes{error}, "
        f"{rejected} rejected{left_out}"
    )
    cells = sum((+tally.confusion.cells for tally in tallies), Counter[tuple[TrueLabel, TrueLabel]]())
    name_of = Vocabulary(settings.classes).name
    for concern in counters.concerns(cells, name_of, settings.model, settings.decisions):
        report_warning(*concern)
    if is_end:
        truths = {truth for truth, _ in cells}
        records = sum(tally.consumed.total() for tally in tallies)
        classes = settings.classes if truths else ()  # otherwise labels may still arrive
        of_records = counters.data_warnings(rejected, records, classes, truths)
        report_data_warnings("; ".join(filter(None, (of_records, *warnings_of_labels(done, states)))))


@click.command(cls=SettingsCommand)
@click.option("--exit-at-end", is_flag=True, help="Post alerts of the existing records, and exit with 0.")
@setting_options(
    *STREAM,
    "group",
    "topic_prefix",
    "predictions_topic",
    "signals_topic",
    "log_level",
    "log_format",
    logs=True,
)
def relay_command(loaded: Loaded, *, exit_at_end: bool) -> None:
    """Post predictions, outcomes and drifts to the webhooks of the settings, until stopped.

    Tables [[webhooks]] of the --config file, or JSON in PERCEPTRON_WEBHOOKS, specify which alerts are posted
    (on: "mistake", "decision:NAME" or "drift") and where (url). Only committed records are posted, each at
    least once: an alert that is not accepted is repeated, after 0.1 s at first and 10 s at most. The offset
    in the topic is committed after the alert was accepted. A new webhook begins with the records to come.
    Several processes share the partitions.
    """
    settings = loaded.settings
    if not settings.webhooks:
        raise ConfigurationError(
            "webhooks: not set", hint="add [[webhooks]] with url and on to the --config file"
        )
    url, stop = broker_url(loaded), Event()
    with stopping() as request:
        request.handle_with(stop.set)
        with ThreadPoolExecutor(len(settings.webhooks), "relay") as pool:
            runs = [
                pool.submit(_relay, settings, url, hook, stop, exit_at_end=exit_at_end)
                for hook in settings.webhooks
            ]
            try:
                wait(runs, return_when=FIRST_EXCEPTION)
            finally:
                stop.set()
        for run in runs:
            run.result()
    if request.is_interrupt:
        sys.exit(INTERRUPTED)


def _relay(settings: Settings, url: str, hook: WebhookSettings, stop: Event, *, exit_at_end: bool) -> None:
    from service.partition.factory import open_stream  # noqa: PLC0415 - the learners, which no help needs
    from service.webhooks.relay import Relay  # noqa: PLC0415

    with closing(open_stream(settings, url, create=False)) as transport:
        Relay(transport, settings, hook).run(stop, exit_at_end=exit_at_end)


_YOUNG: Final = 10_000
"""New objects between two collections of the young ones; one batch makes more than Python's 700 to 2,000."""
_TURN_SECONDS: Final = 0.0005
"""How long a thread keeps the GIL: a request needs the GIL several times."""


def tune_process() -> None:
    """Tune the whole process for the loop; only `serve` calls this, not programs that import the classes.

    Existing objects are frozen (`gc.freeze`), and new ones collected less often: examples that wait for
    labels hold no cycles, yet each full collection goes through all of them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG)
    sys.setswitchinterval(_TURN_SECONDS)
