-- Rows that are of no run or class that there is, by table: of how many keys of runs, and the first of these. All of these tables, on purpose; of the large ones
-- by the first part of indexes log_run, chunks_pkey, delivered_pkey.
WITH RECURSIVE
  logs AS ((SELECT run FROM {schema}.log ORDER BY run LIMIT 1) UNION ALL
    SELECT (SELECT n.run FROM {schema}.log n WHERE n.run > k.run ORDER BY n.run LIMIT 1) FROM logs k WHERE k.run IS NOT NULL),
  streams AS ((SELECT run FROM {schema}.chunks ORDER BY run LIMIT 1) UNION ALL
    SELECT (SELECT n.run FROM {schema}.chunks n WHERE n.run > k.run ORDER BY n.run LIMIT 1) FROM streams k WHERE k.run IS NOT NULL),
  heard AS ((SELECT run FROM {schema}.delivered ORDER BY run LIMIT 1) UNION ALL
    SELECT (SELECT n.run FROM {schema}.delivered n WHERE n.run > k.run ORDER BY n.run LIMIT 1) FROM heard k WHERE k.run IS NOT NULL)
SELECT kept.name, count(DISTINCT kept.run), min(kept.run) FROM (
  SELECT 'queue' AS name, run FROM {schema}.queue UNION ALL SELECT 'log', run FROM logs WHERE run IS NOT NULL UNION ALL SELECT 'inbox', run FROM {schema}.inbox
  UNION ALL SELECT 'tasks', run FROM {schema}.tasks UNION ALL SELECT 'hooks', run FROM {schema}.hooks UNION ALL SELECT 'ended_hooks', run FROM {schema}.ended_hooks
  UNION ALL SELECT 'awaits', target FROM {schema}.awaits UNION ALL SELECT 'awaits', waiter FROM {schema}.awaits
  UNION ALL SELECT 'chunks', run FROM streams WHERE run IS NOT NULL UNION ALL SELECT 'delivered', run FROM heard WHERE run IS NOT NULL
  UNION ALL SELECT 'attributes', run FROM {schema}.attributes UNION ALL SELECT 'acts', run FROM {schema}.acts UNION ALL SELECT 'trims', run FROM {schema}.trims) kept
WHERE NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = kept.run) GROUP BY kept.name
UNION ALL SELECT 'queue (their class)', count(*), min(q.run) FROM {schema}.queue q WHERE NOT EXISTS (SELECT FROM {schema}.classes c WHERE c.key = abs(q.class)) HAVING count(*) > 0
ORDER BY 1
