-- The counts of runs that are not what runs and the queue say: as they are, and as they should be. All of both, on purpose.
WITH known AS MATERIALIZED (
  SELECT r.workflow, r.status, q.run IS NOT NULL AS live, q.running, q.paused OR q.resumed AS paused, q.blocked IS NOT NULL AS blocked FROM runs r LEFT JOIN queue q ON q.run = r.key),
right_ AS (
  SELECT workflow, CASE WHEN NOT live THEN status WHEN running THEN 'running' ELSE 'pending' END AS status, count(*) AS n FROM known
  WHERE live OR status IN ('completed', 'failed', 'cancelled') GROUP BY 1, 2
  UNION ALL SELECT workflow, 'paused', count(*) FROM known WHERE paused GROUP BY workflow
  UNION ALL SELECT workflow, 'blocked', count(*) FROM known WHERE blocked GROUP BY workflow)
SELECT coalesce(t.workflow, c.workflow), coalesce(t.status, c.status), coalesce(t.n, 0), coalesce(c.n, 0)
FROM totals t FULL JOIN right_ c ON c.workflow = t.workflow AND c.status = t.status
WHERE coalesce(t.n, 0) IS NOT coalesce(c.n, 0) ORDER BY 1, 2
