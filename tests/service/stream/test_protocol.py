"""The topics of outputs are found whichever way they come."""

import pytest

from service.stream.batches import OutputBatch
from service.stream.protocol import Output, topics_of


@pytest.mark.parametrize("kind", [list, OutputBatch])
@pytest.mark.parametrize("topics", [[], ["predictions"], ["predictions", "dead-letters", "predictions"]])
def test_each_topic_is_named_once(kind, topics):
    assert topics_of(kind(Output(topic, None, None) for topic in topics)) == set(topics)
