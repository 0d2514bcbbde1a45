-- Runs are swept. Index log_run.
DELETE FROM {schema}.log WHERE run = ANY ($1::bigint[])
