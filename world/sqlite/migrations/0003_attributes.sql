-- Runs by their attributes. A row for each that a run has, so a run without any has none. The value is found by a short key, see
-- world.AttributeKey. What runs have already is put in by the program.
CREATE TABLE attributes (
  name  TEXT    NOT NULL,
  value TEXT    NOT NULL,
  run   INTEGER NOT NULL,
  PRIMARY KEY (name, value, run)
) WITHOUT ROWID;

PRAGMA user_version = 3;
