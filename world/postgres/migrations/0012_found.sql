-- Runs are found by the beginning of their ID, whatever the database's collation; the index that finds them by the whole ID does both.
CREATE UNIQUE INDEX runs_id_pattern ON {schema}.runs (ns, id text_pattern_ops);
DROP INDEX {schema}.runs_id;
ALTER INDEX {schema}.runs_id_pattern RENAME TO runs_id;

-- And those that are blocked or paused: there are few beside those that sleep.
CREATE INDEX queue_stopped ON {schema}.queue (run) WHERE blocked IS NOT NULL OR paused;
