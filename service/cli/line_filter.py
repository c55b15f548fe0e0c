"""An external command that rewrites lines, such as a tokenizer."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence

from service.errors import ConfigurationError, ServiceError


class LineFilter:
    """Passes values through a command, one a line, one process for each batch.

    A value that spans several lines is left as it is.

    Parameters
    ----------
    command
        The command and its arguments, as a shell would split them; no shell runs.

    """

    def __init__(self, command: str) -> None:
        try:
            self._arguments = shlex.split(command)
        except ValueError as error:
            raise ConfigurationError(f"--through: {command!r}: {error}") from None
        if not self._arguments:
            raise ConfigurationError("--through: the command is empty")
        self._command = command

    def __call__(self, values: Sequence[bytes]) -> Sequence[bytes]:
        """Return the rewritten values, in the same order.

        Raises
        ------
        ServiceError
            The command fails, or does not print exactly one line for each.

        """
        lines = [value for value in values if b"\n" not in value]
        rewritten = iter(self._run(lines) if lines else [])
        return [value if b"\n" in value else next(rewritten) for value in values]

    def _run(self, lines: Sequence[bytes]) -> Sequence[bytes]:
        try:
            run = subprocess.run(  # noqa: S603 - to run it is what the user asks for
                self._arguments, input=b"\n".join(lines) + b"\n", capture_output=True, check=False
            )
        except OSError as error:
            raise ServiceError(f"--through: {self._command!r} cannot be run: {error.strerror}") from None
        printed = run.stdout.removesuffix(b"\n").split(b"\n") if run.stdout else []
        if run.returncode or len(printed) != len(lines):
            errors = run.stderr.decode(errors="replace").strip()
            raise ServiceError(
                f"--through: {self._command!r} took {len(lines)} lines, printed {len(printed)}, "
                f"and ended with {run.returncode}" + (f": {errors}" if errors else ""),
                hint="it must print exactly one line for each; --reason narrows down which it gets",
            )
        return printed
