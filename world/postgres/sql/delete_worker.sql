-- A worker that holds nothing any more is gone; tells how many are left of it. By key; indexes queue_owner, tasks_held.
WITH gone AS (
  DELETE FROM {schema}.workers WHERE key = $1
    AND NOT EXISTS (SELECT 1 FROM {schema}.queue WHERE owner = $1) AND NOT EXISTS (SELECT 1 FROM {schema}.tasks WHERE worker = $1)
  RETURNING 1)
SELECT (SELECT count(*) FROM {schema}.workers WHERE key = $1) - (SELECT count(*) FROM gone)
