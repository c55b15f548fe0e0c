"""Topics of an embedded stream that are deleted and created again."""


def recreate(stream, topic="events", *, partitions=99):
    """Let a topic appear as deleted and created again: partition 0 empty, and at most these partitions."""
    stream._logs.pop(topic, None)
    with stream._database.writing() as connection:
        (log,) = connection.execute("SELECT id FROM logs WHERE topic = ?", (topic,)).fetchone()
        connection.execute("DELETE FROM records WHERE row_id >> 40 = ?", (log,))
        connection.execute("DELETE FROM committed WHERE log_id = ?", (log,))
        connection.execute("DELETE FROM logs WHERE topic = ? AND partition >= ?", (topic, partitions))
        connection.execute("UPDATE logs SET id = id + 100, next_offset = 0 WHERE id = ?", (log,))
