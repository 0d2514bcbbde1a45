-- A worker that holds nothing any more needs no lanes. By key; indexes queue_owner, tasks_held.
DELETE FROM {schema}.lanes WHERE worker = $1
  AND NOT EXISTS (SELECT 1 FROM {schema}.queue WHERE owner = $1) AND NOT EXISTS (SELECT 1 FROM {schema}.tasks WHERE worker = $1)
