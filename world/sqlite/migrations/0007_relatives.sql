-- What was made of a run is found: its children, and its forks, restarts and retries. The origin is in the log already, beside the birth.
ALTER TABLE runs ADD COLUMN origin_run TEXT;

UPDATE runs SET origin_run = (
  SELECT coalesce(l.head ->> '$.e[0].b.or', l.head ->> '$.e[0].br.origin.run') FROM log l WHERE l.run = runs.key AND l.seq = 1)
WHERE EXISTS (SELECT 1 FROM log l WHERE l.run = runs.key AND l.seq = 1 AND (instr(l.head, '"or":') OR instr(l.head, '"origin":')));

CREATE INDEX runs_parent ON runs (parent_run) WHERE parent_run IS NOT NULL;
CREATE INDEX runs_origin ON runs (origin_run) WHERE origin_run IS NOT NULL;

PRAGMA user_version = 7;
