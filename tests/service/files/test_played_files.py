"""A message of a played file differs from its original in its id only."""

import pytest

from service.files.input_files import named_anew

FOREIGN = [b"not json", b"\xff", b"[1]", b"3", b"{}", b"[" * 100_000]


@pytest.mark.parametrize("message", FOREIGN)
def test_what_is_no_message_passes_untouched(message):
    assert named_anew(message, ["id"], "@1") == message
    assert named_anew(message, ["order", "id"], "@1") == message


def test_the_suffix_goes_behind_the_id_and_nowhere_else():
    message = b'{"id":"a","features":{"id":2,"x":0.1},"label":1}'
    assert named_anew(message, ["id"], "@7") == b'{"id":"a@7","features":{"id":2,"x":0.1},"label":1}'
