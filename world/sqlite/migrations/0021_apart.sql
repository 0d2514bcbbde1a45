-- Values that are too large for a log, in pieces, and which runs hold them. A run may hold one before it is there; only
-- what a run holds may its log name.
CREATE TABLE apart (
  run   TEXT    NOT NULL,
  value TEXT    NOT NULL,
  at_us INTEGER,          -- when it was written; null: an event names it
  key   TEXT,             -- ID of the key that the value is encrypted with; null: it is plain
  PRIMARY KEY (run, value)
) WITHOUT ROWID;
CREATE INDEX apart_value ON apart (value);
CREATE INDEX apart_at ON apart (at_us) WHERE at_us IS NOT NULL;

CREATE TABLE apart_pieces (
  value  TEXT    NOT NULL,
  number INTEGER NOT NULL,
  data   BLOB    NOT NULL,
  sum    INTEGER NOT NULL,
  PRIMARY KEY (value, number)
);

-- What a run holds goes with it, and a value with the last that holds it. So the deletion of runs is no statement more.
CREATE TRIGGER runs_apart AFTER DELETE ON runs BEGIN
  DELETE FROM apart WHERE run = OLD.id;
END;
CREATE TRIGGER apart_left AFTER DELETE ON apart WHEN NOT EXISTS (SELECT 1 FROM apart WHERE value = OLD.value) BEGIN
  DELETE FROM apart_pieces WHERE value = OLD.value;
END;

ALTER TABLE runs ADD COLUMN output_apart TEXT; -- the value that the output refers to; null: it is the value

PRAGMA user_version = 21;
