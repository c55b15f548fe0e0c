"""Lines of a log become events of the groups of a pattern; what does not match is a bad row."""

import json

import pytest

from service.files.rows import BadRow
from service.files.text_files import compile_pattern
from service.settings.mapping import EventSettings

LINE = b'192.0.2.1 - bob [23/Nov/2026:10:00:02 +0100] "GET /a?b HTTP/1.1" 404 -'


def test_combined_and_common_lines_are_read_without_a_pattern(messages):
    combined, common = messages("x.log", LINE + b' "-" "curl/8 \\"x\\""\n' + LINE + b"\n")
    features = {"host": "192.0.2.1", "user": "bob", "method": "GET", "path": "/a?b", "protocol": "HTTP/1.1"}
    features["status"] = 404
    assert json.loads(common) == {"id": "row-2", "features": features}
    assert json.loads(combined)["features"] == features | {"agent": 'curl/8 \\"x\\"'}
    assert combined.time == "2026-11-23T10:00:02+01:00"


def test_a_request_that_is_none_is_one_field(messages):
    (found,) = messages("x.log", rb'192.0.2.1 - - [23/Nov/2026:10:00:02 +0100] "\x16\x03\"" 400 0')
    assert json.loads(found)["features"]["request"] == r"\x16\x03\""


def test_named_groups_of_a_pattern_are_columns(messages):
    options = {"log_pattern": r"(?P<level>\w+) (?P<ms>\d+|-)(?: (?P<label>\w+))?", "classes": ("no", "yes")}
    first, second = messages("x.log", b"WARN 7 yes\r\nINFO -\n", **options)
    assert json.loads(first) == {"id": "row-1", "features": {"level": "WARN", "ms": 7}, "label": "yes"}
    assert json.loads(second) == {"id": "row-2", "features": {"level": "INFO"}}


def test_a_log_may_be_mapped(messages):
    mapping = EventSettings(features=("status",), timestamp="time")
    assert json.loads(messages("x.log", LINE, mapping=mapping)[0])["time"] == "2026-11-23T10:00:02+01:00"


def test_lines_that_do_not_match_are_bad_rows(messages):
    bad, _, encoded = messages("x.log", b"what\n" + LINE + b"\n\n" + LINE.replace(b"bob", b"\xff"))
    assert (isinstance(bad, BadRow), bad.complaint) == (True, "the line does not match --log-pattern")
    assert isinstance(encoded, BadRow)


@pytest.mark.parametrize(
    ("pattern", "complaint"),
    [("(?P<x>", "at character"), ("abc", "no named group"), ("(?P<1>a)", "character")],
)
def test_what_is_no_pattern_is_refused(pattern, complaint):
    with pytest.raises(ValueError, match=complaint):
        compile_pattern(pattern)
