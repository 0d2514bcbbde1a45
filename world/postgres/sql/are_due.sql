-- How many publications are to be spread. Each is looked up by its key: plans may be of when nothing was due.
SELECT count(*) FROM unnest($1::bigint[]) u(key) CROSS JOIN LATERAL (SELECT d.due_at FROM {schema}.due d WHERE d.publication = u.key OFFSET 0) d
WHERE d.due_at < 'infinity' AND d.due_at <= clock_timestamp()
