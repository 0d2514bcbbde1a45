-- Rows that are of no run or class that there is, by table: of how many keys of runs, and the first of these. All of these tables,
-- on purpose; of the large ones by keys and by the first part of indexes log_run, chunks_run, ended_hooks_run.
WITH RECURSIVE
  logs(run) AS (SELECT min(run) FROM log UNION ALL SELECT (SELECT min(run) FROM log WHERE run > k.run) FROM logs k WHERE k.run IS NOT NULL),
  streams(run) AS (SELECT min(run) FROM chunks UNION ALL SELECT (SELECT min(run) FROM chunks WHERE run > k.run) FROM streams k WHERE k.run IS NOT NULL),
  heard(run) AS (SELECT min(run) FROM delivered UNION ALL SELECT (SELECT min(run) FROM delivered WHERE run > k.run) FROM heard k WHERE k.run IS NOT NULL),
  kept(name, run) AS (
    SELECT 'queue', run FROM queue UNION ALL SELECT 'log', run FROM logs WHERE run IS NOT NULL UNION ALL SELECT 'inbox', run FROM inbox
    UNION ALL SELECT 'tasks', run FROM tasks UNION ALL SELECT 'hooks', run FROM hooks UNION ALL SELECT 'ended_hooks', run FROM ended_hooks
    UNION ALL SELECT 'awaits', target FROM awaits UNION ALL SELECT 'awaits', waiter FROM awaits
    UNION ALL SELECT 'chunks', run FROM streams WHERE run IS NOT NULL UNION ALL SELECT 'delivered', run FROM heard WHERE run IS NOT NULL
    UNION ALL SELECT 'attributes', run FROM attributes UNION ALL SELECT 'acts', run FROM acts UNION ALL SELECT 'trims', run FROM trims)
SELECT name, count(DISTINCT run), min(run) FROM kept k WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.key = k.run) GROUP BY name
UNION ALL SELECT 'queue (their class)', count(*), min(run) FROM queue q WHERE NOT EXISTS (SELECT 1 FROM classes c WHERE c.key = q.class) HAVING count(*) > 0
ORDER BY 1
