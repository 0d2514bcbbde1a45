-- All tasks of runs: they are over, or in a new segment. Index tasks_run.
DELETE FROM {schema}.tasks WHERE run = ANY($1::bigint[])
