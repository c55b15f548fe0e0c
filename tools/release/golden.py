"""Write files in each format that later releases must read: `python -m tools.release.golden FOLDER`.

At a tag, FOLDER is `tests/release/golden/VERSION`. `tests/release/test_golden.py` reads every folder that is
there. Each built-in model has a folder of its own:

    settings.toml   the settings
    events.ndjson   the events that the model learned
    stream.db       a SQLite stream with progress records and a chain of snapshots and increments
    model.bin       the model file
    scores.json     the model's scores of the events
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

from click.testing import CliRunner

import service
from service.cli.app import cli
from service.models.registry import BUILT_IN

SETTINGS = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
ALWAYS_INCREMENTS = {
    "service.loop.snapshots.AT_ONCE_BYTES": 0,
    "service.loop.snapshots.INCREMENT_RATIO": 1e9,
    "service.loop.snapshots.CHAIN_RATIO": 1e9,
    "perceptron_core.formats.model_changes._MAX_RATIO": 1e9,
}
"""With these bounds, every snapshot after the first is an increment, whatever its size."""


def events() -> Iterator[Mapping[str, object]]:
    """Yield events; every fourth has no label and stays pending."""
    for n in range(48):
        word, label = ("win", "spam") if n % 3 else ("see", "ham")
        event = {"id": f"e{n}", "text": f"{word} at {n % 7}", "features": {"hour": n % 24}}
        yield event | ({"label": label} if n % 4 else {})


def write(folder: Path, model: str, hash_bits: int = 0) -> None:
    """Write the files of one model."""
    folder.mkdir(parents=True)
    settings, lines, file = (folder / name for name in ("settings.toml", "events.ndjson", "model.bin"))
    classes = ["ham", "news", "spam"] if "multiclass" in model else ["ham", "spam"]
    own = f'model = "{model}"\nhash_bits = {hash_bits}\nclasses = {json.dumps(classes)}\n'
    settings.write_text(own + SETTINGS, encoding="utf-8")
    lines.write_text("".join(f"{json.dumps(event)}\n" for event in events()), encoding="utf-8")
    given = ("--config", str(settings), "--broker", f"sqlite:///{folder}/stream.db")
    with ExitStack() as patches:
        for name, value in ALWAYS_INCREMENTS.items():
            patches.enter_context(patch(name, value))
        for command in (("produce", lines), ("serve", "--exit-at-end"), ("checkpoint", "export", file)):
            run(*map(str, command), *given)
    for left in folder.glob("stream.db-*"):
        left.unlink()
    scores = service.load(file).score([*events()])
    (folder / "scores.json").write_text(json.dumps(scores), encoding="utf-8")


def run(*arguments: str) -> str:
    """Run a command in this process and return its output."""
    result = CliRunner().invoke(cli, arguments)
    if result.exit_code:
        raise SystemExit(result.output)
    return result.stdout


def main(folder: Path) -> None:
    """Write the files of every built-in model, and of one with hashed weights."""
    for name in BUILT_IN:
        write(folder / name, name)
    write(folder / "perceptron-hashed", "perceptron", hash_bits=10)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
