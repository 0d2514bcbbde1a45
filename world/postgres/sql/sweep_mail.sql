-- Runs are swept. Index inbox_run.
DELETE FROM {schema}.inbox WHERE run = ANY ($1::bigint[])
