-- Limits. A run that needs places has them in its row of the queue: places, JSON of the keys in the order in which it takes
-- them; how many of the first it keeps until its end, and how many it has. parked_us: it stands in the line of the next
-- one, since then. It is not ready while it does.
ALTER TABLE queue ADD COLUMN places TEXT;
ALTER TABLE queue ADD COLUMN keeps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue ADD COLUMN has INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queue ADD COLUMN parked_us INTEGER;
DROP INDEX queue_ready;
ALTER TABLE queue DROP COLUMN ready_us;
ALTER TABLE queue ADD COLUMN ready_us INTEGER AS (CASE
  WHEN owner IS NOT NULL OR paused OR parked_us IS NOT NULL THEN NULL
  WHEN blocked IS NOT NULL OR NOT running OR mail_us IS NULL THEN wake_us
  WHEN wake_us IS NULL OR mail_us < wake_us THEN mail_us
  ELSE wake_us END) VIRTUAL;
CREATE INDEX queue_ready ON queue (class, priority, ready_us) WHERE ready_us IS NOT NULL;

-- A few. said: places of a key, as code says; number: as an operator says, and then that holds.
CREATE TABLE limits (
  name      TEXT    NOT NULL PRIMARY KEY,
  said      INTEGER NOT NULL,
  number    INTEGER,
  until_end INTEGER NOT NULL
) WITHOUT ROWID;

-- One for each key that a run needs which is not over. used: places that are held; live: runs that need it.
CREATE TABLE limit_keys (
  key  INTEGER PRIMARY KEY, -- made of name and text
  name TEXT    NOT NULL,
  text TEXT    NOT NULL,
  used INTEGER NOT NULL,
  live INTEGER NOT NULL
);
CREATE INDEX limit_keys_name ON limit_keys (name, text);

-- Runs that wait for a place, in the order in which they get it.
CREATE TABLE limit_line (
  key      INTEGER NOT NULL,
  urgency  INTEGER NOT NULL, -- 3 less the priority
  place_us INTEGER NOT NULL,
  run      INTEGER NOT NULL,
  PRIMARY KEY (key, urgency, place_us, run)
) WITHOUT ROWID;

PRAGMA user_version = 23;
