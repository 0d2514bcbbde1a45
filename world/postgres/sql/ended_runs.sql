-- Which of some runs are over. By key.
SELECT a.run FROM unnest($1::bigint[]) a(run) WHERE NOT EXISTS (SELECT 1 FROM {schema}.queue q WHERE q.run = a.run)
