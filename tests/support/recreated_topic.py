"""Topics of an embedded stream that are deleted and created again."""


def recreate(stream, topic="events"):
    """Let partition 0 of a topic appear as deleted and created again, empty."""
    stream._logs.pop(topic, None)
    with stream._database.writing() as connection:
        (log,) = connection.execute("SELECT id FROM logs WHERE topic = ?", (topic,)).fetchone()
        connection.execute("DELETE FROM records WHERE row_id >> 40 = ?", (log,))
        connection.execute("DELETE FROM committed WHERE log_id = ?", (log,))
        connection.execute("UPDATE logs SET id = id + 100, next_offset = 0 WHERE id = ?", (log,))
