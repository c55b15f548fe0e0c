"""Run `pip install` with the given arguments; of what it prints, show how many modules are compiled.

If it fails, all that it printed is shown.
"""

from __future__ import annotations

import subprocess
import sys

STEP = "compiling: "
"""What the lines of `setup.py` begin with."""
EVERY = 10


def main(arguments: list[str]) -> int:
    """Return the exit code of pip."""
    command = [sys.executable, "-m", "pip", "install", "--verbose", *arguments]
    lines = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            lines.append(line)
            step = line.strip()
            if step.startswith(STEP) and int(step.removeprefix(STEP).split()[0]) % EVERY == 0:
                print(step, flush=True)
    if pip.returncode:
        sys.stderr.writelines(lines)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
