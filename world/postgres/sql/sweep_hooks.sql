-- Runs are swept. Index hooks_run.
DELETE FROM {schema}.hooks WHERE run = ANY ($1::bigint[])
