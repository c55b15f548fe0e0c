"""Report known vulnerabilities of the dependencies of a release.

`pip-audit` succeeds if the index knows none of the packages, and ends with a traceback without a network.
Neither is an audit, so this program reads the report. It reports a missing audit as a warning, or as an error
where `PERCEPTRON_REQUIRE_AUDIT=1` is set, as in the release workflow.

    python -m tools.release.audit SITE_PACKAGES REPORT
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

_TIMEOUT_SECONDS: Final = 15
_OURS: Final = "online-perceptron"
_REQUIRED: Final = "PERCEPTRON_REQUIRE_AUDIT"
_HINT: Final = f"hint: run it again where https://pypi.org answers; {_REQUIRED}=1 makes this an error"


def main(site_packages: str, report: Path) -> int:
    """Audit; return 1 if a vulnerability is known, or if a required audit is not possible."""
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pip_audit", "--path", site_packages, "--timeout", str(_TIMEOUT_SECONDS)]
    command += ["--format", "json", "--output", str(report), "--progress-spinner", "off"]
    subprocess.run(command, capture_output=True, check=False)
    dependencies = json.loads(report.read_text(encoding="utf-8"))["dependencies"] if report.exists() else ()
    text, code = verdict(dependencies, is_required=bool(os.environ.get(_REQUIRED)))
    print(text, file=sys.stderr, flush=True)
    return code


def verdict(dependencies: Sequence[Mapping[str, Any]], *, is_required: bool = False) -> tuple[str, int]:
    """Report what `pip-audit` found, in words and as an exit code."""
    others = [dependency for dependency in dependencies if dependency["name"] != _OURS]
    asked = [package for package in others if "skip_reason" not in package]
    found = [f"{each['name']} {each['version']}: {v['id']}" for each in asked for v in each["vulns"]]
    if found:
        return f"error: {len(found)} known vulnerabilities\n  " + "\n  ".join(found), 1
    if not asked:
        what = f"knows none of {len(others)} packages" if others else "did not answer"
        kind = "error" if is_required else "warning"
        return f"{kind}: NOT AUDITED: the advisory service {what}\n{_HINT}", int(is_required)
    unknown = len(others) - len(asked)
    return f"no known vulnerability in {len(asked)} packages; {unknown} are unknown to the index", 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
