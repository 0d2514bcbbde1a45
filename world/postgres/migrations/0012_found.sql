-- Runs are found by the beginning of their ID, whatever the database's collation; the index that finds them by the whole ID does both.
DROP INDEX {schema}.runs_id;
CREATE UNIQUE INDEX runs_id ON {schema}.runs (ns, id text_pattern_ops);

-- And those that are blocked or paused: there are few beside those that sleep.
CREATE INDEX queue_stopped ON {schema}.queue (run) WHERE blocked IS NOT NULL OR paused;
