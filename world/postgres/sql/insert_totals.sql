-- How the counts of runs changed.
INSERT INTO {schema}.totals (workflow, status, n) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
