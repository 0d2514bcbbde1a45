-- The mail of all runs of a worker, in order of arrival. Indexes queue_owner, inbox_run.
SELECT i.row, i.delivery, i.arrived_us, i.format, i.head, i.body, i.sum, r.id, r.created_us
FROM queue q CROSS JOIN inbox i ON i.run = q.run CROSS JOIN runs r ON r.key = q.run
WHERE q.owner = ?1
ORDER BY i.row
