-- Which of some runs have mail. Index inbox_run.
SELECT a.run FROM unnest($1::bigint[]) a(run) WHERE EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = a.run)
