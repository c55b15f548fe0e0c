"""Write the reference pages from the code: settings, commands, metrics, messages, learners, tests."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric

import perceptron_core
from perceptron_core.formats import model_bytes
from service.cli.app import cli
from service.cli.help import ALL
from service.messages.dead_letter import ORIGIN_HEADERS
from service.messages.rejection import Reason
from service.messages.schema import KINDS, json_schema
from service.monitoring.metrics import Metrics
from service.partition.factory import make_processor
from service.settings.fields import KEPT, OF_MODELS, SECRETS, TABLES, Settings
from service.settings.load import ENVIRONMENT_PREFIX
from service.stream.protocol import Record

_GENERATED: Final = (
    "<!-- Generated from the code by tools/documentation/references.py: change it there. -->\n\n"
)
PROSE: Final = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
GUARANTEES: Final = Path(__file__).parents[2] / "tests" / "guarantees.toml"
RECORDS: Final = Path(__file__).parents[2] / "docs" / "project" / "records"
_WIDTH: Final = 100
_ROWS: Final = ("learn_rows", "predict_rows", "score_rows", "predict_learn_rows", "predict_learn_texts")
_SHOWN: Final = ("learn_one", "predict_one", "score_one", "update_one", "undo_one", *_ROWS)
"""Methods of a learner that the reference shows."""
_ENOUGH_FOR_A_BOUND: Final = 120
"""Separable examples in the run that the metrics are listed from."""


def references() -> dict[str, str]:
    """Return every reference page: Markdown by its path in the site."""
    pages = (commands, settings, messages, metrics, learners, functions, tests)
    found = {f"reference/{page.__name__}.md": f"{PROSE[page.__name__]}\n{page()}" for page in pages}
    found["project/records/index.md"] = f"{PROSE['records']}\n{records()}\n"
    return {path: _GENERATED + text for path, text in found.items()}


def command_tree(
    name: str = "perceptron", command: click.Command = cli
) -> Iterator[tuple[str, click.Command]]:
    """Yield each command under its full name, `perceptron` itself first."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            assert found is not None
            yield from command_tree(f"{name} {inner}", found)


def commands() -> str:
    """List every command with its help."""
    sections = [f"## {name}\n\n```text\n{help_of(name, command)}\n```\n" for name, command in command_tree()]
    return "\n".join(sections)


def help_of(name: str, command: click.Command) -> str:
    """Return all of a command's help, as the command line shows it."""
    style: dict[str, Any] = {**cli.context_settings, "max_content_width": _WIDTH}
    context = click.Context(command, info_name=name, terminal_width=_WIDTH, **style)
    context.meta[ALL] = True
    return command.get_help(context)


def settings() -> str:
    """List every setting: meaning, default, bounds, whether it may change, and how to give it."""
    described = Settings.model_json_schema()
    plain = [name for name in Settings.model_fields if name not in TABLES]
    sections = [_setting(name, described["properties"][name]) for name in plain]
    sections += [
        _setting(f"{table}.{name}", schema)
        for table, model in TABLES.items()
        for name, schema in model.model_json_schema()["properties"].items()
    ]
    return "\n".join(sections)


def _setting(name: str, schema: Mapping[str, Any]) -> str:
    options = _options_of(name)
    rows = [
        ("default", _default(schema)),
        ("allowed", _allowed(schema)),
        ("change", _change(name)),
        ("environment", _variables(name)),
        ("option", ", ".join(f"`{option}`" for option in dict.fromkeys(options.values())) or "none"),
        ("of the commands", ", ".join(f"`{command}`" for command in options)),
    ]
    listed = "\n".join(f"- {title}: {text}" for title, text in rows if text)
    description = " ".join(schema["description"].split())
    return f"## {name}\n\n{description}\n\n{listed}\n"


def _change(name: str) -> str:
    if name in OF_MODELS:
        return "no: a model learned under another value is another model"
    return "after `perceptron serve --exit-at-end`" if name in KEPT else ""


def _variables(name: str) -> str:
    variable = ENVIRONMENT_PREFIX + name.upper().replace(".", "__")
    return f"`{variable}`" + (f" or `{variable}_FILE`" if name in SECRETS else "")


def _default(schema: Mapping[str, Any]) -> str:
    default = schema.get("default", "")
    if default is None:
        return "`auto`"
    if default in ("", [], {}):
        return ""
    if isinstance(default, list):  # a range: as it is written on the command line
        default = "-".join(map(str, dict.fromkeys(default)))
    return f"`{default if isinstance(default, str) else json.dumps(default)}`"


def _allowed(schema: Mapping[str, Any]) -> str:
    schema = {**schema, **schema.get("anyOf", [{}])[0]}
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"] if value)
    bounds = (("minimum", "at least"), ("exclusiveMinimum", "above"), ("maximum", "at most"))
    return ", ".join(f"{words} {schema[key]:,}" for key, words in bounds if key in schema)


def _options_of(name: str) -> dict[str, str]:
    """Return a setting's option by command; not of `config show`, which has one for whatever is no secret."""
    return {
        full.removeprefix("perceptron "): "/".join([*option.opts, *option.secondary_opts])
        for full, command in command_tree()
        for setting, option in _setting_options(command)
        if setting == name and full != "perceptron config show"
    }


def _setting_options(command: click.Command) -> Iterator[tuple[str, click.Option]]:
    for option in command.params:
        if isinstance(option, click.Option) and (option.name or "").startswith("setting_"):
            assert option.name is not None
            yield option.name.removeprefix("setting_").replace("__", "."), option


def messages() -> str:
    """Describe each kind of message, and the reasons of dead letters."""
    sections = [_message(kind) for kind in KINDS]
    reasons = "\n".join(f"- `{reason}`" for reason in Reason)
    headers = ", ".join(f"`{name}`" for name in ORIGIN_HEADERS)
    sections.append(PROSE["dead_letters"].format(headers=headers, reasons=reasons))
    return "\n".join(sections)


def _message(kind: str) -> str:
    schema = json_schema(kind)
    required = set(schema.get("required", ()))
    rows = [
        (f"`{name}`", "yes" if name in required else "no", field.get("description", ""))
        for name, field in schema["properties"].items()
    ]
    return f"## {kind}\n\n{schema['description']}\n\n{_table(('Field', 'Required', 'Meaning'), rows)}\n"


def metrics() -> str:
    """List every metric that the service exports."""
    families = sorted(exported_families(), key=lambda family: family.name)
    ours = [family for family in families if family.name.startswith("perceptron_")]
    others = [family for family in families if family not in ours]
    return "\n".join(map(_metric, [*ours, *others]))


def _metric(family: Metric) -> str:
    suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
    labels = sorted({label for sample in family.samples for label in sample.labels} - {"le"})
    shown = f", by {', '.join(f'`{label}`' for label in labels)}" if labels else ""
    kind = family.type.capitalize()
    return f"## {family.name}{suffix}\n\n{family.documentation}\n\n{kind}{shown}.\n"


def exported_families() -> list[Metric]:
    """Return the metric families of a service that has done all it can."""
    registry = CollectorRegistry()
    shown = Metrics(registry)
    for partition, model in enumerate(("perceptron", "coin-betting", "auto")):
        costs = {"false_positive": 1, "false_negative": 1}
        act = {"name": "act", "threshold": 0.1}
        drift = {"reaction": "record"}
        processor = make_processor(Settings(model=model, decisions=[act], costs=costs, drift=drift))
        processor.observe = shown.watch(partition, processor.learner)
        processor.process_batch([Record("events", 0, n, 0, None, value) for n, value in enumerate(_stream())])
        shown.publish(partition, shown.state_of(partition, processor))
    window = {"by": "features.card", "over": "1h", "of": {"@event": "count"}}
    windowed = make_processor(Settings(events={"windows": [window]}))
    shown.watch(partition + 2, windowed.learner)
    shown.publish(partition + 2, shown.state_of(partition + 2, windowed))
    shown.snapshot_committed(0, duration_seconds=0.1, size_bytes=1, timestamp_seconds=0.0)
    shown.lag = {("events", 0): 0}
    return list(registry.collect())


def _stream() -> Iterator[bytes]:
    """Yield what a perceptron separates for long enough, a label that comes late, and a bad message."""
    for number in range(_ENOUGH_FOR_A_BOUND):
        event = {"id": str(number), "features": {"x": number % 2 - 0.5}, "label": bool(number % 2)}
        yield json.dumps(event).encode()
    yield from (b'{"id": "late", "text": "win"}', b'{"id": "late", "label": true}', b"not json")


def learners() -> str:
    """Document the classes that learn, after a table of their names and of the effect of weights."""
    rows = [
        (f"`{name}`", f"`{cls.__name__}`", cls.WEIGHT) for name, cls in sorted(model_bytes.learners().items())
    ]
    table = f"{_table(('`--model`', 'Class', 'The weight of an example'), rows)}\n"
    members = f"    options:\n      members: [{', '.join(_SHOWN)}]\n"
    documented = [f"::: perceptron_core.{name}\n{members}" for name in _public(learns=True)]
    documented.append("::: perceptron_core.formats.sklearn.PerceptronEstimator\n")
    return "\n".join([table, *documented])


def functions() -> str:
    """Document the functions, and the classes that do not learn."""
    return "\n".join(f"::: perceptron_core.{name}\n" for name in _public(learns=False))


def tests() -> str:
    """List the tests that try to break the guarantees."""
    promises = tomllib.loads(GUARANTEES.read_text(encoding="utf-8"))
    sections = [
        f"## {promise}\n\n{_table(('Tried by', 'Test'), [(by, f'`{test}`') for by, test in tried.items()])}\n"
        for promise, tried in promises.items()
    ]
    return "\n".join(sections)


def records() -> str:
    """List the design records by their titles."""
    titles = [
        f"- [{path.read_text(encoding='utf-8').partition(chr(10))[0].removeprefix('# ')}]({path.name})"
        for path in sorted(RECORDS.glob("[0-9]*.md"))
    ]
    return "\n".join(titles)


def _public(*, learns: bool) -> list[str]:
    """Name what the library publishes: the classes that learn, or all else."""
    found = {name: getattr(perceptron_core, name) for name in perceptron_core.__all__ if name[:2] != "__"}
    has_methods = {name: hasattr(each, "learn_one") or hasattr(each, "fit") for name, each in found.items()}
    return [name for name, each in found.items() if (isinstance(each, type) and has_methods[name]) is learns]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
