-- Runs whose logs end before an event that they had: their number, and one of them. All of the queue, on purpose; index log_run.
SELECT count(*), coalesce(min(r.id), '') FROM queue q CROSS JOIN runs r ON r.key = q.run
WHERE q.taken > coalesce((SELECT l.seq + l.n - 1 FROM log l WHERE l.run = q.run ORDER BY l.seq DESC LIMIT 1), 0)
