"""`perceptron relay`: post predictions, outcomes and drifts to webhooks."""

from __future__ import annotations

import json
import sys
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing
from threading import Event

import click

from service.cli.commands.serve import stopping
from service.cli.options import STREAM, broker_url, opened_stream, setting_options
from service.cli.output import echo
from service.errors import INTERRUPTED, ConfigurationError
from service.settings.load import Loaded, Settings
from service.settings.webhooks import WebhookSettings


@click.command()
@click.option(
    "--from",
    "begin",
    type=click.Choice(["start", "end"]),
    default="end",
    help="Where a webhook begins that is new: with the first record, or with those to come.  [default: end]",
)
@click.option("--exit-at-end", is_flag=True, help="Post what there is, and exit with 0.")
@click.option("--dry-run", is_flag=True, help="Print what would be posted now; post and change nothing.")
@setting_options(
    *STREAM,
    "group",
    "predictions_topic",
    "predictions_format",
    "signals_topic",
    "log_level",
    "log_format",
    logs=True,
)
def relay_command(loaded: Loaded, *, begin: str, exit_at_end: bool, dry_run: bool) -> None:
    """Post predictions, outcomes and drifts to the webhooks of the settings, until stopped.

    Tables [[webhooks]] of the --config file, or JSON in PERCEPTRON_WEBHOOKS, say which (on: "mistake",
    "decision:NAME" or "drift") and where (url). Only committed records are posted, each at least once: an
    alert that is not accepted is repeated, after 0.1 s at first and 10 s at most, and the place in the topic
    is committed behind what was accepted. Several processes share the partitions.
    """
    settings = loaded.settings
    if not settings.webhooks:
        raise ConfigurationError(
            "webhooks: there are none", hint="[[webhooks]] in the --config file, with url and on"
        )
    if dry_run:
        _print_waiting(loaded, at_end=begin == "end")
        return
    url, stop = broker_url(loaded), Event()
    with stopping() as request:
        request.answer_with(stop.set)
        with ThreadPoolExecutor(len(settings.webhooks), "relay") as pool:
            runs = [
                pool.submit(_run, settings, url, hook, stop, at_end=begin == "end", exit_at_end=exit_at_end)
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


def _run(
    settings: Settings, url: str, hook: WebhookSettings, stop: Event, *, at_end: bool, exit_at_end: bool
) -> None:
    from service.partition.factory import open_stream  # noqa: PLC0415 - the learners, which no help needs
    from service.webhooks.relay import Relay  # noqa: PLC0415

    with closing(open_stream(settings, url, create=False)) as transport:
        Relay(transport, settings, hook, at_end=at_end).run(stop, exit_at_end=exit_at_end)


def _print_waiting(loaded: Loaded, *, at_end: bool) -> None:
    from service.webhooks.relay import waiting_alerts  # noqa: PLC0415

    with opened_stream(loaded) as transport:
        for hook in loaded.settings.webhooks:
            for alert in waiting_alerts(transport, loaded.settings, hook, at_end=at_end):
                body = json.loads(alert.body)
                echo(json.dumps({"webhook": hook.title, "id": alert.id, "body": body}, ensure_ascii=False))
