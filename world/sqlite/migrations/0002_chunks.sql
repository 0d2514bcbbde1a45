-- Streams: a row for each batch of chunks, of one writer. There were none before.
DROP TABLE chunks;
CREATE TABLE chunks (
  run     INTEGER NOT NULL,
  stream  TEXT    NOT NULL,
  idx     INTEGER NOT NULL, -- number of its first chunk
  n       INTEGER NOT NULL, -- how many numbers; fewer than in data, where the last were made void
  kind    TEXT    NOT NULL, -- 'data', or a mark: 'reset', 'close', 'error'
  step    TEXT    NOT NULL, -- '': the workflow's code
  attempt INTEGER NOT NULL,
  pos     INTEGER NOT NULL, -- how many that attempt had written to the stream before; tells a write that is repeated
  at_us   INTEGER NOT NULL,
  data    BLOB    NOT NULL  -- see package world
);
CREATE UNIQUE INDEX chunks_run ON chunks (run, stream, idx);

PRAGMA user_version = 2;
