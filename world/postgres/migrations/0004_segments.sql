-- Runs that go on for ever do so in segments: where the newest begins, so that whoever takes the run need not read what was before, and what is not
-- wanted any more.
ALTER TABLE {schema}.runs ADD COLUMN segment bigint NOT NULL DEFAULT 0; -- number of the run_continued that began the newest; 0: the first
ALTER TABLE {schema}.runs ADD COLUMN trim    bigint NOT NULL DEFAULT 0; -- number of the one before which nothing is wanted; 0: none

-- What the sweeper is to delete. Rows are added by those who continue runs and deleted by sweepers alone, so that neither waits for the other.
CREATE TABLE {schema}.trims (
  run    bigint NOT NULL,
  before bigint NOT NULL, -- number of a run_continued
  PRIMARY KEY (run, before)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

UPDATE {schema}.runs r SET segment = c.seq FROM (
  SELECT l.run, max(l.seq + e.i - 1) AS seq FROM {schema}.log l, json_array_elements(l.head::json -> 'e') WITH ORDINALITY e (v, i)
  WHERE position('run_continued' IN l.head) > 0 AND e.v ->> 'y' = 'run_continued' GROUP BY l.run) c
WHERE r.key = c.run;
