-- The runs of a worker, each with its claim and the number of its last event. Indexes queue_owner, log_run.
SELECT r.id, q.take, (SELECT l.seq + l.n - 1 FROM log l WHERE l.run = q.run ORDER BY l.seq DESC LIMIT 1)
FROM queue q CROSS JOIN runs r ON r.key = q.run WHERE q.owner = ?1
