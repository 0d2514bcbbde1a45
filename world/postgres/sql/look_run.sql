-- What a commit needs to know of a run, by its ID; columns of the queue are null when it is over. Indexes runs_id, log_run.
SELECT r.key, r.created_at, r.workflow, r.retention_ns, r.takes,
  coalesce((SELECT least(l.seq, 4611686018427387904) + l.n - 1 FROM {schema}.log l WHERE l.run = r.key ORDER BY l.seq DESC LIMIT 1), 0),
  c.version, q.running, q.priority, q.owner, q.take, q.paused, q.blocked IS NOT NULL, q."full", q.wake_at, coalesce(q.places IS NOT NULL, false)
FROM {schema}.runs r LEFT JOIN {schema}.queue q ON q.run = r.key LEFT JOIN {schema}.classes c ON c.key = abs(q.class)
WHERE r.ns = 0 AND r.id = $1::text
