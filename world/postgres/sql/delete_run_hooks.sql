-- All hooks of runs that are over. Index hooks_run.
WITH gone AS (DELETE FROM {schema}.hooks WHERE run = ANY($1::bigint[]) RETURNING token, run, id, metadata, created_at)
INSERT INTO {schema}.ended_hooks (token, run, id, metadata, created_at) SELECT * FROM gone
