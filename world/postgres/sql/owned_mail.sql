-- The mail of all runs of a worker, in order of arrival. Indexes queue_owner, inbox_run.
SELECT i."row", i.run, r.id, r.created_at, i.delivery, i.arrived_at, i.format, i.head, i.body, i.sum
FROM {schema}.queue q CROSS JOIN LATERAL (SELECT * FROM {schema}.inbox WHERE run = q.run OFFSET 0) i JOIN {schema}.runs r ON r.key = q.run
WHERE q.owner = $1 ORDER BY i."row"
