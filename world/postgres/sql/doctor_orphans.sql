-- Rows that are of no run or class that there is, by table: of how many keys of runs, and the first of these. All of these tables, on purpose.
SELECT kept.name, count(DISTINCT kept.run), min(kept.run) FROM (
  SELECT 'queue' AS name, run FROM {schema}.queue UNION ALL SELECT 'log', run FROM {schema}.log UNION ALL SELECT 'inbox', run FROM {schema}.inbox
  UNION ALL SELECT 'tasks', run FROM {schema}.tasks UNION ALL SELECT 'hooks', run FROM {schema}.hooks UNION ALL SELECT 'ended_hooks', run FROM {schema}.ended_hooks
  UNION ALL SELECT 'awaits', target FROM {schema}.awaits UNION ALL SELECT 'awaits', waiter FROM {schema}.awaits
  UNION ALL SELECT 'chunks', run FROM {schema}.chunks UNION ALL SELECT 'delivered', run FROM {schema}.delivered
  UNION ALL SELECT 'attributes', run FROM {schema}.attributes UNION ALL SELECT 'acts', run FROM {schema}.acts UNION ALL SELECT 'trims', run FROM {schema}.trims) kept
WHERE NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = kept.run) GROUP BY kept.name
UNION ALL SELECT 'queue (their class)', count(*), min(q.run) FROM {schema}.queue q WHERE NOT EXISTS (SELECT FROM {schema}.classes c WHERE c.key = q.class) HAVING count(*) > 0
ORDER BY 1
