-- How many publications are to be spread.
SELECT count(*) FROM {schema}.due d JOIN {schema}.publications p ON p.key = d.publication
WHERE d.publication = ANY($1::bigint[]) AND d.due_at < 'infinity' AND d.due_at <= clock_timestamp()
