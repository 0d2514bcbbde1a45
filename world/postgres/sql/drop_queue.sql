-- A queue with messages stays.
WITH gone AS (
  DELETE FROM {schema}.queues q WHERE q.name = $1 AND NOT EXISTS (SELECT FROM {schema}.messages m WHERE m.queue = q.key) RETURNING q.key)
DELETE FROM {schema}.dedupes d USING gone WHERE d.queue = gone.key
