-- Streams: a row for each batch of chunks, of one writer. There were none before.
DROP TABLE {schema}.chunks;
CREATE TABLE {schema}.chunks (
  run     bigint      NOT NULL,
  stream  text        NOT NULL,
  idx     bigint      NOT NULL, -- number of its first chunk
  n       integer     NOT NULL, -- how many numbers; fewer than in data, where the last were made void
  kind    text        NOT NULL, -- 'data', or a mark: 'reset', 'close', 'error'
  step    text        NOT NULL, -- '': the workflow's code
  attempt integer     NOT NULL,
  pos     bigint      NOT NULL, -- how many that attempt had written to the stream before; tells a write that is repeated
  at      timestamptz NOT NULL,
  data    bytea       NOT NULL, -- see package world
  PRIMARY KEY (run, stream, idx)
);
