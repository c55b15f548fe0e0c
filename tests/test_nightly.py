"""What `nightly.toml` leaves out is there, and so is what makes its claim in `make test`."""

import re
import tomllib
from pathlib import Path

FOLDER = Path(__file__).parent
COVERED = tomllib.loads((FOLDER / "nightly.toml").read_text(encoding="utf-8"))
"""What makes the claim in `make test`, for each regular expression of what is left out."""
FILE = re.compile(r"[\w/]+\.py")
INNERMOST_GROUP = re.compile(r"\((?!\?)([^()]*)\)")


def file_of(case):
    return case.partition("::")[0]


def each_alternative(pattern):
    """Return the pattern, and it with each alternative of a group that contains no other."""
    return [pattern] + [
        pattern[: group.start()] + one + pattern[group.end() :]
        for group in INNERMOST_GROUP.finditer(pattern)
        for one in group[1].split("|")
    ]


def test_every_nightly_alternative_matches_a_case(all_cases):
    tried = [one for pattern in COVERED for one in each_alternative(pattern)]
    assert [one for one in tried if not any(map(re.compile(one).search, all_cases))] == []


def test_every_file_that_covers_a_pattern_exists():
    named = {file for covering in COVERED.values() for file in FILE.findall(covering)}
    assert {file for file in named if not (FOLDER / file).is_file()} == set()


def test_cases_covered_within_their_file_do_not_empty_it(all_cases):
    left_out = re.compile("|".join(COVERED))
    stay = {file_of(case) for case in all_cases if not left_out.search(case)}
    for pattern, covering in COVERED.items():
        if not FILE.search(covering):
            files = {file_of(case) for case in filter(re.compile(pattern).search, all_cases)}
            assert files <= stay, (pattern, covering)
