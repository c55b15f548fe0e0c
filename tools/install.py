"""Install the project here: `python -m tools.install [--editable] [--group NAME]… PROJECT`.

uv fetches and unpacks what the project needs, in a fifth of the time that pip takes. pip does it where uv is
missing or, as it reads no settings of pip, finds no registry. pip builds the project itself: of what it
prints, the number of compiled modules is shown; all of it if it fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

STEP = "compiling: "
"""What the lines of `setup.py` begin with."""
EVERY = 10
PIP = [sys.executable, "-m", "pip", "install"]
UV = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", sys.executable]
UV_VARIABLES = {
    "UV_DEFAULT_INDEX": "PIP_INDEX_URL",
    "UV_CONSTRAINT": "PIP_CONSTRAINT",
    "SSL_CERT_FILE": "PIP_CERT",
}
"""The variables of pip that have others of uv alongside them."""


def main(arguments: list[str]) -> int:
    """Return the exit code of the first program that fails."""
    parser = argparse.ArgumentParser()
    parser.add_argument("project")
    parser.add_argument("--editable", action="store_true")
    parser.add_argument("--group", action="append", default=[])
    given = parser.parse_args(arguments)
    groups = [word for name in given.group for word in ("--group", name)]
    extras = [word for name in extras_of(given.project) for word in ("--extra", name)]
    wanted = [*PIP, "--verbose", *(["--editable"] if given.editable else []), given.project]
    if not fetch(["--requirements", "pyproject.toml", *extras, "--group", "compile"]):
        return install(groups) or build(wanted)
    with ThreadPoolExecutor() as alongside:  # the network and the compiler
        fetched = alongside.submit(fetch, groups)
        failed = build([*wanted, "--no-deps", "--no-build-isolation"])
    return failed or (0 if fetched.result() else install(groups))


def extras_of(project: str) -> Sequence[str]:
    """Return the names in `.[one,two]`."""
    return project.partition("[")[2].rstrip("]").split(",") if "[" in project else []


def fetch(arguments: Sequence[str]) -> bool:
    """Let uv install packages, if any are given; return whether it could."""
    if not arguments:
        return True
    done = subprocess.run([*UV, *arguments], env=uv_environment(os.environ), check=False, capture_output=True)
    return not done.returncode


def install(groups: Sequence[str]) -> int:
    """Let pip install groups, if any are given; return its exit code."""
    return subprocess.call([*PIP, "--quiet", *groups]) if groups else 0


def uv_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return variables for uv: it reads none of pip's."""
    theirs = {name: environ[own] for name, own in UV_VARIABLES.items() if environ.get(own)}
    return {**theirs, **environ}


def build(command: Sequence[str]) -> int:
    """Run pip, and show how many modules are compiled."""
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
