-- What processes have counted, for who tells the metrics of all.
CREATE TABLE metrics (
  process  TEXT    PRIMARY KEY,
  revision INTEGER NOT NULL,
  put_at   INTEGER NOT NULL, -- µs since 1970
  says     TEXT    NOT NULL  -- JSON; empty: another process has added it to its own
) WITHOUT ROWID;

PRAGMA user_version = 15;
