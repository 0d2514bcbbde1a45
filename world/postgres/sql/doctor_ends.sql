-- Runs whose logs end before an event that they had: their number, and one of them. All of the queue, on purpose; index log_run.
SELECT count(*), coalesce(min(r.id), '') FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run
WHERE q.taken > coalesce((SELECT least(l.seq, 4611686018427387904) + l.n - 1 FROM {schema}.log l WHERE l.run = q.run ORDER BY l.seq DESC LIMIT 1), 0)
