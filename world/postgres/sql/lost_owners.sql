-- Owners of runs and holders of tasks that are not among the workers, and of which no process has the lock: nobody would bury them. Indexes queue_owner,
-- tasks_held.
SELECT lost.key FROM (
  SELECT q.owner AS key FROM {schema}.queue q WHERE q.owner IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = q.owner)
  UNION SELECT t.worker FROM {schema}.tasks t WHERE t.worker IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.key = t.worker)) lost
WHERE NOT EXISTS (SELECT 1 FROM pg_locks l
  WHERE l.locktype = 'advisory' AND l.classid = $1::integer::oid AND l.objid = (lost.key & 2147483647)::integer::oid AND l.objsubid = 2
    AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
LIMIT 1000
