-- The mail of some runs of a worker, in order of arrival. Indexes queue_pkey, inbox_run.
SELECT i."row", i.run, r.id, r.created_at, i.delivery, i.arrived_at, i.format, i.head, i.body, i.sum
FROM {schema}.queue q CROSS JOIN LATERAL (SELECT * FROM {schema}.inbox WHERE run = q.run OFFSET 0) i JOIN {schema}.runs r ON r.key = q.run
WHERE q.run = ANY($1::bigint[]) AND q.owner = $2 ORDER BY i."row"
