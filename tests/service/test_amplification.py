"""Small inputs that stand for much cost little: each less than two seconds, and 400 MiB at the peak."""

import json
import subprocess
import sys

import pytest

MOST_SECONDS, MOST_BYTES = 2.0, 400 << 20


def measured(group, folder=""):
    """Return what came of the cases of a group, once their costs are checked."""
    command = [sys.executable, "-m", "tests.service.amplified", group, str(folder)]
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    result = json.loads(run.stdout)
    assert result["peak_bytes"] < MOST_BYTES
    assert all(seconds < MOST_SECONDS for seconds, _ in result["found"].values()), result
    return {name: said for name, (_, said) in result["found"].items()}


def test_a_record_of_more_values_than_its_length_allows_is_refused_before_they_are_made():
    limit = "more than 1048576 values in {} bytes"
    assert measured("formats") == {
        "avro": limit.format(900_007),
        "protobuf 40": limit.format(1_000_000),
        "protobuf 1000": limit.format(1_000_000),
    }


def test_parquet_files_hold_no_more_than_their_length_allows(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet  # noqa: PLC0415

    def write(name, column, **options):
        parquet.write_table(
            pa.table({"text": column}), tmp_path / f"{name}.parquet", compression="zstd", **options
        )

    indices = pa.array([0] * 100, pa.int32())
    whole = {"dictionary_pagesize_limit": 1 << 30}
    write("dictionary", pa.DictionaryArray.from_arrays(indices, ["x" * 3_000_000]), **whole)
    write("list", pa.ListArray.from_arrays([0, 5_000_000], pa.nulls(5_000_000, pa.int64())))
    write("plain", pa.array(["x" * 500_000] * 100), use_dictionary=False)
    words = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), ["x" * 1000])
    write("words", pa.ListArray.from_arrays([0, 100_000], words), **whole)
    write("wide", pa.array([b"x" * 1_000_000] * 100, pa.binary(1_000_000)))
    found = measured("tables", tmp_path)
    assert found.pop("list").startswith("row group 0 has 4999999 values in lists in ")
    assert found.pop("plain").startswith("row group 0 has 5000")
    assert found == {"dictionary": 100, "words": 1, "wide": 100}
