-- Workflows that are held: none of their runs begins. state 0: not all of the runs that have not begun are marked yet; 1:
-- all are; 2: it is released, and some are marked still. changed_us: when somebody last went on with it.
CREATE TABLE holds (
  workflow   TEXT    NOT NULL PRIMARY KEY,
  held_by    TEXT    NOT NULL,
  note       TEXT    NOT NULL,
  since_us   INTEGER NOT NULL,
  state      INTEGER NOT NULL,
  changed_us INTEGER NOT NULL
) WITHOUT ROWID;

-- held: it is not to begin, and so is not ready.
ALTER TABLE queue ADD COLUMN held INTEGER NOT NULL DEFAULT 0;
DROP INDEX queue_ready;
ALTER TABLE queue DROP COLUMN ready_us;
ALTER TABLE queue ADD COLUMN ready_us INTEGER AS (CASE
  WHEN owner IS NOT NULL OR paused OR parked_us IS NOT NULL OR held THEN NULL
  WHEN blocked IS NOT NULL OR NOT running OR mail_us IS NULL THEN wake_us
  WHEN wake_us IS NULL OR mail_us < wake_us THEN mail_us
  ELSE wake_us END) VIRTUAL;
CREATE INDEX queue_ready ON queue (class, priority, ready_us) WHERE ready_us IS NOT NULL;

-- Runs that are to begin by a time, and else are ended: within ttl, in ns. A row that is of a run which has begun, or is over, goes when its time comes.
CREATE TABLE lapses (
  due_us INTEGER NOT NULL,
  run    INTEGER NOT NULL,
  ttl    INTEGER NOT NULL,
  PRIMARY KEY (due_us, run)
) WITHOUT ROWID;

PRAGMA user_version = 25;
