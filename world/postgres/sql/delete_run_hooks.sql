-- All hooks of runs that are over. Index hooks_run.
DELETE FROM {schema}.hooks WHERE run = ANY($1::bigint[])
