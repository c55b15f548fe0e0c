"""What is read as an NDJSON body, and what is refused."""

import gzip

import pytest

from service.web.requests import MOST_LINES
from tests.service.building import event
from tests.service.web.lines.sending import NDJSON, body_of, post
from tests.service.web.stage import Stage

ALL = ["/predict", "/events", "/labels"]


@pytest.fixture(scope="module")
def stage():
    stage = Stage(max_message_bytes=20_000)
    stage(event("a", "win"))
    return stage


@pytest.fixture(scope="module")
def client(stage):
    with stage.served() as opened:
        yield opened


@pytest.mark.parametrize(
    ("body", "count"),
    [
        (b"", 0),
        (b"\n", 1),
        (b"x", 1),
        (b"x\n", 1),
        (b"x\r\n", 1),
        (b"x\n\ny", 3),
        (b"x\n\n", 2),
        (b"\r\n\r\n", 2),
    ],
)
def test_each_line_counts_the_empty_ones_too(client, body, count):
    assert len(post(client, "/predict", body).content.splitlines()) == count
    answer = post(client, "/labels", body).json()
    assert (answer["lines"]["lines"] if count else answer["lines"]) == count


@pytest.mark.parametrize("path", ALL)
def test_too_many_lines_are_too_large(client, path):
    assert post(client, path, b"1\n" * MOST_LINES).status_code in {200, 422}
    answer = post(client, path, b"\n" * MOST_LINES + b"1")
    assert (answer.status_code, answer.json()["what"]) == (413, f"the body has more than {MOST_LINES} lines")
    assert "split" in answer.json()["hint"]


@pytest.mark.parametrize("path", ALL)
def test_a_body_of_lines_is_as_large_as_a_message_at_most(client, path):
    answer = post(client, path, b" " * 20_001)
    assert (answer.status_code, answer.json()["what"]) == (413, "the body is larger than 20000 bytes")


@pytest.mark.parametrize("path", ALL)
def test_other_lines_than_of_utf_8_are_refused(client, path):
    answer = client.post(path, content=b"{}", headers={"content-type": f"{NDJSON}; charset=latin-1"})
    assert (answer.status_code, answer.json()["what"]) == (
        415,
        f"the body must be {NDJSON} in UTF-8, not latin-1",
    )


def test_lines_are_not_explained(client):
    assert post(client, "/explain", b"{}").status_code == 415


@pytest.mark.parametrize(
    "given",
    [{"events": {"format": "text", "id": "@key"}}, {"events": {"format": "avro", "schema_file": "x"}}],
)
def test_records_that_are_no_json_are_not_taken_as_lines(given):
    with Stage(**given).served() as client:
        assert post(client, "/events", b"x").status_code == 415


def test_compressed_lines_are_read(client):
    lines = body_of(event("a", "win"), event("b", "lose"))
    answer = client.post(
        "/predict", content=gzip.compress(lines), headers={"content-type": NDJSON, "content-encoding": "gzip"}
    )
    assert answer.content == post(client, "/predict", lines).content


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"no gzip", 415),
        (gzip.compress(b"{}")[:-1], 415),
        (gzip.compress(b"{}") * 2, 415),
        (gzip.compress(b" " * 20_001), 413),
        (gzip.compress(b" " * 10_000_000), 413),
    ],
    ids=["other bytes", "cut", "two files", "too large", "a bomb"],
)
def test_a_compressed_body_that_is_not_whole_or_too_large_is_refused(client, body, status):
    headers = {"content-type": NDJSON, "content-encoding": "gzip"}
    for path in ALL:
        assert client.post(path, content=body, headers=headers).status_code == status


def test_the_document_has_lines_where_they_are_taken(client):
    paths = client.get("/openapi.json").json()["paths"]
    taking = {path for path, each in paths.items() if NDJSON in str(each.get("post", {}).get("requestBody"))}
    assert taking == {*ALL}
    assert NDJSON in paths["/predict"]["post"]["responses"]["200"]["content"]
