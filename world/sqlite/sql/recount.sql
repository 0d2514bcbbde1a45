-- The counts of runs, made anew as doctor_counts has them. All of runs and the queue, on purpose.
WITH known AS MATERIALIZED (
  SELECT r.workflow, r.status, q.run IS NOT NULL AS live, q.running, q.paused OR q.resumed AS paused, q.blocked IS NOT NULL AS blocked FROM runs r LEFT JOIN queue q ON q.run = r.key)
INSERT INTO totals (workflow, status, n)
SELECT workflow, CASE WHEN NOT live THEN status WHEN running THEN 'running' ELSE 'pending' END AS status, count(*) FROM known
WHERE live OR status IN ('completed', 'failed', 'cancelled') GROUP BY 1, 2
UNION ALL SELECT workflow, 'paused', count(*) FROM known WHERE paused GROUP BY workflow
UNION ALL SELECT workflow, 'blocked', count(*) FROM known WHERE blocked GROUP BY workflow
