-- What was made of a run is found: its children, and its forks, restarts and retries. The origin is in the log already, beside the birth.
ALTER TABLE {schema}.runs ADD COLUMN origin_run text;

UPDATE {schema}.runs r SET origin_run = coalesce(l.head::json -> 'e' -> 0 -> 'b' ->> 'or', l.head::json -> 'e' -> 0 -> 'br' -> 'origin' ->> 'run')
FROM {schema}.log l WHERE l.run = r.key AND l.seq = 1 AND (position('"or":' IN l.head) > 0 OR position('"origin":' IN l.head) > 0);

CREATE INDEX runs_parent ON {schema}.runs (parent_run, created_at, key) WHERE parent_run IS NOT NULL;
CREATE INDEX runs_origin ON {schema}.runs (origin_run, created_at, key) WHERE origin_run IS NOT NULL;
