-- Runs and tasks whose owner is not among the workers: how many, and a run. Indexes queue_owner, tasks_held.
SELECT count(*), coalesce(min((SELECT r.id FROM {schema}.runs r WHERE r.key = lost.run)), '') FROM (
  SELECT q.run FROM {schema}.queue q WHERE q.owner IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = q.owner)
  UNION ALL SELECT t.run FROM {schema}.tasks t WHERE t.worker IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = t.worker)) lost
