-- The runs that claim_runs has just given to a worker, now that nobody else writes their logs; with the log, where that is one row, and no large one ($3).
-- taken stays what it was where the log has lost its end. By key; index log_run.
UPDATE {schema}.queue q SET taken = greatest(l.last, -1 - q.taken, 0)
FROM {schema}.runs r LEFT JOIN LATERAL (
  SELECT least(m.seq, 4611686018427387904) + m.n - 1 AS last, m.seq = 1 AND octet_length(m.body) <= $3 AS short, m.format, m.head, m.body, m.sum
  FROM {schema}.log m WHERE m.run = r.key ORDER BY m.seq DESC LIMIT 1) l ON true
WHERE q.run = ANY($1::bigint[]) AND q.owner = $2 AND q.taken < 0 AND r.key = q.run
RETURNING r.id, r.key, r.created_at, r.retention_ns, r.workflow, q.class, q.running, q.priority, q.take, coalesce(l.last, 0), q.taken, q.paused, q.blocked, q."full", q.wake_at, q.strikes,
  r.attributes IS NULL, r.segment, q.places IS NOT NULL,
  l.format, CASE WHEN l.short THEN l.head END, CASE WHEN l.short THEN l.body END, l.sum,
  r.priority, r.parent_run, r.parent_step, r.detached, r.sealed, r.origin_run, r.sum
