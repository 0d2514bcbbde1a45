-- Runs and tasks whose owner is not among the workers, and runs that nobody has and nobody is given, although they are due at a time: how many, and a run. All of
-- the queue, on purpose; index tasks_held.
SELECT count(*), coalesce(min((SELECT r.id FROM {schema}.runs r WHERE r.key = lost.run)), ''), count(*) FILTER (WHERE lost.nobody) FROM (
  SELECT q.run, false AS nobody FROM {schema}.queue q WHERE q.owner IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = q.owner)
  UNION ALL SELECT t.run, false FROM {schema}.tasks t WHERE t.worker IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = t.worker)
  UNION ALL SELECT q.run, true FROM {schema}.queue q WHERE q.owner IS NULL AND NOT q.paused AND q.wake_at IS NOT NULL AND q.ready_at IS NULL AND q.parked_at IS NULL) lost
