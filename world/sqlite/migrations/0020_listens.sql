-- Waits of runs that listen to what is published.
CREATE TABLE listens (
  run     INTEGER NOT NULL,
  wait    TEXT    NOT NULL,
  shape   TEXT    NOT NULL, -- JSON: pattern, paths of the match, key
  hash    INTEGER NOT NULL,
  back_us INTEGER,          -- it gets what went out since then, too, and has not yet; null: no
  PRIMARY KEY (run, wait)
) WITHOUT ROWID;
CREATE INDEX listens_hash ON listens (shape, hash, run, wait);
CREATE INDEX listens_back ON listens (run, wait) WHERE back_us IS NOT NULL;

PRAGMA user_version = 20;
