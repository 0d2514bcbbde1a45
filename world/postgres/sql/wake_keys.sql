-- Keys of rates that are to be looked at are news. Index limit_keys_due.
WITH due AS MATERIALIZED (SELECT k.key FROM {schema}.limit_keys k WHERE k.due <= clock_timestamp() ORDER BY k.due LIMIT 1000 FOR UPDATE SKIP LOCKED),
seen AS (UPDATE {schema}.limit_keys k SET due = NULL FROM due d WHERE k.key = d.key)
INSERT INTO {schema}.limit_news (key, kind) SELECT d.key, 1 FROM due d
