-- Schedules: when runs start by themselves.
CREATE TABLE schedules (
  name   TEXT    NOT NULL PRIMARY KEY,
  said   TEXT    NOT NULL, -- JSON, see package layout
  sum    INTEGER NOT NULL,
  change INTEGER NOT NULL, -- number of the last change
  code   TEXT    NOT NULL, -- the set whose code it needs; '': none
  due_us INTEGER,          -- when to look at it again; null: never
  of_set TEXT              -- of a program that declares it; null: none
);
CREATE INDEX schedules_due ON schedules (code, due_us) WHERE due_us IS NOT NULL;
CREATE INDEX schedules_set ON schedules (of_set, name) WHERE of_set IS NOT NULL;

PRAGMA user_version = 22;
