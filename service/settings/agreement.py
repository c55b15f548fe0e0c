"""Check that settings fit each other. What does not is a `PydanticCustomError` that names both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from service.messages.labels import BINARY
from service.settings.kafka import disagreement
from service.settings.names import TOPIC_SETTINGS
from service.settings.tables.class_weights import weights_of
from service.settings.tables.costs import check_decisions
from service.settings.tables.drift import DRIFT
from service.settings.tables.webhooks import DECISION
from service.settings.tables.windows import LABEL

if TYPE_CHECKING:
    from service.settings.fields import Settings


def _check_topics_differ(settings: Settings) -> None:
    used: dict[str, str] = {}
    for setting in TOPIC_SETTINGS:
        topic = getattr(settings, setting)
        if not topic and setting != "labels_topic":
            raise disagreement((setting,), "must not be empty")
        if topic and topic in used:
            raise disagreement((setting, used[topic]), f"{used[topic]} and {setting} must differ")
        used[topic] = setting


def _check_sharing(settings: Settings) -> None:
    if settings.share_model:
        raise disagreement(("share_model",), "one task over all partitions: not in this version")


def _check_hook(settings: Settings) -> None:
    if settings.events.hook and not settings.allow_hook:
        raise disagreement(("events.hook", "allow_hook"), "it names code, and allow_hook is off")


def _check_rates(settings: Settings) -> None:
    has_rates = any(what == LABEL for each in settings.events.windows for what, _ in each.of)
    if has_rates and len(settings.classes) > BINARY:
        reason = "@label counts positive labels: there are none where there are more than two classes"
        raise disagreement(("events.windows", "classes"), reason)


def _check_decisions(settings: Settings) -> None:
    check_decisions(settings.decisions, settings.costs, settings.classes)


def _check_class_weights(settings: Settings) -> None:
    given = settings.class_weights
    for names in (*([name] for name in given), [*given]):
        try:
            weights_of({name: given[name] for name in names}, settings.classes)
        except ValueError as error:
            raise disagreement((f"class_weights.{names[0]}", "class_weights"), str(error)) from None


def _check_webhooks(settings: Settings) -> None:
    known = [each.name for each in settings.decisions] or ["positive"] * settings.costs.are_given
    for named in (each for webhook in settings.webhooks for each in webhook.on):
        if named == DRIFT and not settings.drift.is_on:
            raise disagreement(("webhooks", "drift.reaction"), "no drift is recorded: drift.reaction is none")
        if known and named.startswith(DECISION) and named.removeprefix(DECISION) not in known:
            reason = f"{named!r} is none of the decisions: {', '.join(known)}"
            raise disagreement(("webhooks", "decisions"), reason)


def _check_label_on_timeout(settings: Settings) -> None:
    settings.events.truth_on_timeout(settings.classes)
    if settings.label_correction_seconds and not settings.events.label_on_timeout:
        names = ("label_correction_seconds", "events.label_on_timeout")
        raise disagreement(names, "without events.label_on_timeout there is nothing to correct")


def _check_bootstrap(settings: Settings) -> None:
    names = ("bootstrap_labels", "bootstrap")
    if settings.bootstrap_labels and not settings.bootstrap:
        raise disagreement(names, "bootstrap_labels has the labels of events in files of bootstrap")


AGREEMENTS = (
    _check_topics_differ,
    _check_sharing,
    _check_hook,
    _check_rates,
    _check_decisions,
    _check_class_weights,
    _check_webhooks,
    _check_label_on_timeout,
    _check_bootstrap,
)
"""Functions of all settings, each of which raises if some disagree."""
