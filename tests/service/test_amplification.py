"""Small inputs that stand for much cost little: each less than two seconds, and 400 MiB at the peak."""

import json
import subprocess
import sys

from tests.support.speed import patience

MOST_SECONDS, MOST_BYTES = 2.0, 400 << 20


def test_more_values_than_a_records_length_allows_are_refused_early():
    command = [sys.executable, "-m", "tests.service.amplified"]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=patience(60))
    result = json.loads(run.stdout)
    assert result["peak_bytes"] < MOST_BYTES
    assert all(seconds < MOST_SECONDS for seconds, _ in result["found"].values()), result
    limit = "more than 1048576 values in {} bytes"
    assert {name: said for name, (_, said) in result["found"].items()} == {
        "avro": limit.format(900_007),
        "protobuf 40": limit.format(1_000_000),
        "protobuf 1000": limit.format(1_000_000),
    }
