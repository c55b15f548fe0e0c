CREATE TABLE logs (  -- a partition of a topic
    id INTEGER PRIMARY KEY,
    topic TEXT NOT NULL,
    partition INTEGER NOT NULL,
    first_offset INTEGER NOT NULL DEFAULT 0,
    next_offset INTEGER NOT NULL DEFAULT 0,  -- kept here: it must grow even when every record is deleted
    UNIQUE (topic, partition)
);
CREATE TABLE records (
    row_id INTEGER PRIMARY KEY,  -- log and offset in one number: see `row_id_of`
    timestamp_ms INTEGER NOT NULL,
    key BLOB,
    value BLOB,
    headers BLOB  -- NULL: none
);
CREATE TABLE committed (
    group_name TEXT NOT NULL,
    log_id INTEGER NOT NULL,
    next_offset INTEGER NOT NULL,
    PRIMARY KEY (group_name, log_id)
) WITHOUT ROWID;
