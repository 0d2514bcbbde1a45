-- The mail of runs that are over. Index inbox_run.
DELETE FROM {schema}.inbox WHERE run = ANY($1::bigint[])
