-- Runs that gather the inputs of further starts of their workflow and key (name), until they begin. A row whose run is not
-- open any more, as the queue says, stands for nothing, and goes when another takes its place, or behind until_us.
CREATE TABLE buckets (
  workflow TEXT    NOT NULL,
  name     TEXT    NOT NULL,
  run      INTEGER NOT NULL,
  quiet_ns INTEGER NOT NULL, -- it begins when no input has come for so long; 0: a batch
  number   INTEGER NOT NULL, -- of a batch: it begins with so many
  until_us INTEGER NOT NULL, -- it begins then at the latest
  items    INTEGER NOT NULL, -- inputs that it has
  bytes    INTEGER NOT NULL, -- of those
  PRIMARY KEY (workflow, name)
) WITHOUT ROWID;
CREATE UNIQUE INDEX buckets_run ON buckets (run);
CREATE INDEX buckets_until ON buckets (until_us);

-- The idempotency key of a start whose input was given to the run: workflow and idem.
ALTER TABLE delivered ADD COLUMN workflow TEXT;
ALTER TABLE delivered ADD COLUMN idem TEXT;
CREATE UNIQUE INDEX delivered_idem ON delivered (workflow, idem) WHERE idem IS NOT NULL;

PRAGMA user_version = 28;
