-- Runs that go on for ever do so in segments: where the newest begins, so that whoever takes the run need not read what was before, and what is not
-- wanted any more.
ALTER TABLE runs ADD COLUMN segment INTEGER NOT NULL DEFAULT 0; -- number of the run_continued that began the newest; 0: the first
ALTER TABLE runs ADD COLUMN trim    INTEGER NOT NULL DEFAULT 0; -- number of the one before which nothing is wanted; 0: none

-- What the sweeper is to delete. Rows are added by those who continue runs and deleted by the sweeper alone.
CREATE TABLE trims (
  run    INTEGER NOT NULL,
  before INTEGER NOT NULL, -- number of a run_continued
  PRIMARY KEY (run, before)
) WITHOUT ROWID;

UPDATE runs SET segment = coalesce((
  SELECT max(l.seq + e.key) FROM log l, json_each(l.head, '$.e') e
  WHERE l.run = runs.key AND instr(l.head, 'run_continued') AND e.value ->> 'y' = 'run_continued'), 0);

PRAGMA user_version = 4;
