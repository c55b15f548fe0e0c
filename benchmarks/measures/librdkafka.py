"""The bare loop in C, compiled where it is measured, on the librdkafka that confluent-kafka brings along."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, PackagePath, files
from pathlib import Path

from .base import Unavailable

SOURCE = Path(__file__).parents[1] / "peers" / "bare_librdkafka.c"


@functools.cache
def bare_loop(folder: Path) -> Sequence[str]:
    """Compile the loop in a folder; return the command that starts it, without the loop's own arguments.

    Raises
    ------
    Unavailable
        There is no compiler, no librdkafka in a wheel, or it does not compile.

    """
    library, program = bundled_library(), folder / "bare_librdkafka"
    compiler = shutil.which("cc")
    if compiler is None:
        raise Unavailable("no C compiler (cc) to compile the bare loop with")
    done = subprocess.run(
        [compiler, "-O2", "-Wall", "-Werror", "-o", str(program), str(SOURCE), "-ldl"],
        capture_output=True,
        check=False,
        text=True,
    )
    if done.returncode:
        raise Unavailable(f"the bare loop in C does not compile: {done.stderr.partition(chr(10))[0]}")
    return (str(program), str(library))


def bundled_library() -> Path:
    """Return the path of the librdkafka that the wheel of confluent-kafka has in it.

    Raises
    ------
    Unavailable
        confluent-kafka is missing, or was built on a library of the system.

    """
    try:
        found = _among(files("confluent-kafka") or ())
    except PackageNotFoundError:
        raise Unavailable("confluent-kafka is not installed") from None
    if found is None:
        raise Unavailable("this confluent-kafka brings no librdkafka along")
    return found


def _among(installed: Iterable[PackagePath]) -> Path | None:
    found = (each for each in installed if each.name.startswith("librdkafka") and ".so" in each.name)
    return next((Path(str(each.locate())).resolve() for each in found), None)
