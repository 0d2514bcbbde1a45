-- A run that was just claimed. By key; index log_run.
SELECT r.id, q.take, q.class, q.running, q.priority, q.paused, q.blocked,
  coalesce((SELECT seq + n - 1 FROM log WHERE run = ?1 ORDER BY seq DESC LIMIT 1), 0), q.strikes, r.segment, q.taken
FROM queue q CROSS JOIN runs r ON r.key = q.run WHERE q.run = ?1
