"""Report known vulnerabilities of the dependencies of a release.

`pip-audit` calls it a success when the index knows nothing of any package; and without a network it ends with
a traceback. Both would pass for an answer, so the report itself is read here.

    python -m tools.release.audit SITE_PACKAGES REPORT
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

_TIMEOUT_SECONDS: Final = 15
_OURS: Final = "online-perceptron"


def main(site_packages: str, report: Path) -> int:
    """Audit; return 1 if a vulnerability is known, 0 if none is or the database cannot be reached."""
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pip_audit", "--path", site_packages, "--timeout", str(_TIMEOUT_SECONDS)]
    command += ["--format", "json", "--output", str(report), "--progress-spinner", "off"]
    subprocess.run(command, capture_output=True, check=False)
    if not report.exists():
        print("audit: skipped: no advisory service can be reached from here")
        return 0
    text, code = verdict(json.loads(report.read_text(encoding="utf-8"))["dependencies"])
    print(f"audit: {text}")
    return code


def verdict(dependencies: Sequence[Mapping[str, Any]]) -> tuple[str, int]:
    """Report what `pip-audit` found, in words and as an exit code."""
    others = [each for each in dependencies if each["name"] != _OURS]
    asked = [each for each in others if "skip_reason" not in each]
    found = [f"{each['name']} {each['version']}: {v['id']}" for each in asked for v in each["vulns"]]
    if found:
        return f"{len(found)} known vulnerabilities\n  " + "\n  ".join(found), 1
    if not asked:
        return f"skipped: the index answered about none of {len(others)} packages", 0
    unknown = len(others) - len(asked)
    return f"no known vulnerability in {len(asked)} packages; {unknown} are unknown to the index", 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
