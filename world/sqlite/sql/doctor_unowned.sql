-- Runs and tasks whose owner is not among the workers: how many, and a run. Indexes queue_owner, tasks_held.
SELECT count(*), coalesce(min((SELECT id FROM runs WHERE key = lost.run)), '') FROM (
  SELECT run FROM queue WHERE owner IS NOT NULL AND owner NOT IN (SELECT key FROM workers)
  UNION ALL SELECT run FROM tasks WHERE worker IS NOT NULL AND worker NOT IN (SELECT key FROM workers)) lost
