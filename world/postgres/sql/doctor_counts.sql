-- The counts of runs that are not what runs and the queue say: as they are, and as they should be. All of both, on purpose.
WITH known AS MATERIALIZED (
  SELECT r.workflow, r.status, q.run IS NOT NULL AS live, q.running, coalesce(q.paused, false) AS paused, q.blocked IS NOT NULL AS blocked
  FROM {schema}.runs r LEFT JOIN {schema}.queue q ON q.run = r.key),
right_ AS (
  SELECT workflow, CASE WHEN NOT live THEN status WHEN running THEN 'running' ELSE 'pending' END AS status, count(*) AS n FROM known
  WHERE live OR status IN ('completed', 'failed', 'cancelled') GROUP BY 1, 2
  UNION ALL SELECT workflow, 'paused', count(*) FROM known WHERE paused GROUP BY workflow
  UNION ALL SELECT workflow, 'blocked', count(*) FROM known WHERE blocked GROUP BY workflow)
SELECT workflow, status, greatest(least(coalesce(t.n, 0), 9223372036854775807), -9223372036854775808)::bigint, coalesce(c.n, 0)
FROM (SELECT workflow, status, sum(n) AS n FROM {schema}.totals GROUP BY workflow, status) t FULL JOIN right_ c USING (workflow, status)
WHERE coalesce(t.n, 0) <> coalesce(c.n, 0) ORDER BY workflow, status
