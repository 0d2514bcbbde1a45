-- The counts of runs are made anew, as doctor_counts has them. In a snapshot: changes of others that it does not see stay as they are, and where another
-- process sums up meanwhile, this fails. All of runs and the queue, on purpose.
WITH gone AS (DELETE FROM {schema}.totals),
known AS MATERIALIZED (
  SELECT r.workflow, r.status, q.run IS NOT NULL AS live, q.running, coalesce(q.paused, false) AS paused, q.blocked IS NOT NULL AS blocked
  FROM {schema}.runs r LEFT JOIN {schema}.queue q ON q.run = r.key)
INSERT INTO {schema}.totals (workflow, status, n)
SELECT workflow, CASE WHEN NOT live THEN status WHEN running THEN 'running' ELSE 'pending' END AS status, count(*) FROM known
WHERE live OR status IN ('completed', 'failed', 'cancelled') GROUP BY 1, 2
UNION ALL SELECT workflow, 'paused', count(*) FROM known WHERE paused GROUP BY workflow
UNION ALL SELECT workflow, 'blocked', count(*) FROM known WHERE blocked GROUP BY workflow
