-- Runs are swept. Index ended_hooks_run.
DELETE FROM {schema}.ended_hooks WHERE run = ANY ($1::bigint[])
