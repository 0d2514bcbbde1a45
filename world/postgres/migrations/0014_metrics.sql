-- What processes have counted, for who tells the metrics of all.
CREATE TABLE {schema}.metrics (
  process  text        PRIMARY KEY,
  revision bigint      NOT NULL,
  put_at   timestamptz NOT NULL,
  says     text        NOT NULL -- JSON; empty: another process has added it to its own
);
