-- All workers: whether their leases are over, whether they hold anything, whether their locks are there. Indexes queue_owner, tasks_held.
WITH locks AS MATERIALIZED (
  SELECT l.objid FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid = $1::integer::oid AND l.objsubid = 2 AND l.granted
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database()))
SELECT w.key, w.session, w.until < clock_timestamp(), w.ended IS NOT NULL,
  {holds},
  EXISTS (SELECT 1 FROM locks WHERE objid = (w.key % 2147483648)::integer::oid)
FROM {schema}.workers w
