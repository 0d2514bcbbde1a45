-- Runs are swept. Index tasks_run.
DELETE FROM {schema}.tasks WHERE run = ANY ($1::bigint[])
