"""Complete topics, models and other values of options in a shell."""

from __future__ import annotations

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from service.errors import ServiceError
from service.settings.fields import TOPIC_SETTINGS, setting_values
from service.settings.load import Settings, load_settings

Completions = list[CompletionItem]


def complete_model(_: click.Context, __: click.Parameter, incomplete: str) -> Completions:
    """Offer the built-in models; of a path, the files."""
    from service.models.registry import BUILT_IN  # noqa: PLC0415 - the learners, which no help needs

    return _beginning(BUILT_IN, incomplete) or [CompletionItem(incomplete, type="file")]


def complete_file(_: click.Context, __: click.Parameter, incomplete: str) -> Completions:
    """Offer the files."""
    return [CompletionItem(incomplete, type="file")]


def complete_topic(ctx: click.Context, _: click.Parameter, incomplete: str) -> Completions:
    """Offer the topics of the settings in force here; the stream is not queried, as it may be slow."""
    settings = _settings(ctx)
    return _beginning(filter(None, (getattr(settings, name) for name in TOPIC_SETTINGS)), incomplete)


def complete_setting(_: click.Context, __: click.Parameter, incomplete: str) -> Completions:
    """Offer the names of the settings."""
    return _beginning(setting_values(Settings()), incomplete)


def _beginning(names: Iterable[str], incomplete: str) -> Completions:
    return [CompletionItem(name) for name in dict.fromkeys(names) if name.startswith(incomplete)]


def _settings(ctx: click.Context) -> Settings:
    """Load the settings as a command would; those that are wrong it will complain about itself."""
    try:
        return load_settings({}, ctx.params.get("config_file")).settings
    except ServiceError:
        return Settings()
