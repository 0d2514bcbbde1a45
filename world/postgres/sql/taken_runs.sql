-- The runs that take_runs has just given to a worker, now that nobody else writes their logs. By key; index log_run.
UPDATE {schema}.queue q SET taken = coalesce((SELECT l.seq + l.n - 1 FROM {schema}.log l WHERE l.run = q.run ORDER BY l.seq DESC LIMIT 1), 0)
FROM {schema}.runs r
WHERE q.run = ANY($1::bigint[]) AND q.owner = $2 AND q.taken = -1 AND r.key = q.run
RETURNING r.id, r.key, r.created_at, r.retention_ns, r.workflow, q.class, q.running, q.priority, q.take, q.taken, q.paused, q.blocked, q."full", q.wake_at, q.strikes
