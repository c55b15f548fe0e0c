"""The help of commands and options: settings by section, and bounds of numbers in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import click
from click.types import OptionHelpExtra

from service.cli.output import echo
from service.errors import bounds_in_words
from service.settings.declaration import Section
from service.settings.fields import DECLARED, SECTIONS

ALL: Final = "service.cli.help.all"
"""Key in the `meta` of a context whose help shows all options."""
MAX_SHOWN: Final = 25
"""Largest number of settings of which a command's help shows all."""
PREFIX: Final = "setting_"
"""Attribute of parameters that are options of settings."""
_SHOW_ALL: Final = "help_all"


class _NumberOption(click.Option):
    """An option of a bounded number, whose help shows the bounds in words: click shows `x>=1`."""

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """Return the default and the bounds."""
        extra = super().get_help_extra(ctx)
        extra["range"] = bounds_in_words(extra["range"])
        return extra

    def make_metavar(self, ctx: click.Context) -> str:
        """Return the placeholder of the value."""
        return super().make_metavar(ctx).removesuffix(" RANGE").replace("FLOAT", "NUMBER")


def number_option(*names: str, **described: Any) -> Callable[[Any], Any]:  # noqa: ANN401 - as `click.option` takes them
    """Return an option of a bounded number; `type` is a range of click."""
    return click.option(*names, cls=_NumberOption, **described)


class SettingsCommand(click.Command):
    """A command whose help lists the options of settings by section: by default only the common ones."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command's own options, then each section."""
        parameters = self.get_params(ctx)
        shows_all = ALL in ctx.meta or _SHOW_ALL not in {parameter.name for parameter in parameters}
        sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *Section)}
        for parameter in parameters:
            is_setting = (parameter.name or "").startswith(PREFIX)
            name = (parameter.name or "").removeprefix(PREFIX).replace("__", ".")
            declared, record = DECLARED[name] if is_setting else None, parameter.get_help_record(ctx)
            if record and record[1] and (declared is None or shows_all or declared.common):
                sections[SECTIONS[name.partition(".")[0]] if declared else "Options"].append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click calls it so
    if value and not ctx.resilient_parsing:
        ctx.meta[ALL] = True
        echo(ctx.get_help())
        ctx.exit()


HELP_ALL = click.option(
    "--help-all",
    _SHOW_ALL,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
    help="Show all options and exit; --help shows the common ones.",
)
