-- Deletes of the next $3 publications behind one those that are old ($2), as long as all are, and are due no more. The last one that was looked at; null: there is none that is old.
WITH old AS MATERIALIZED (
  SELECT p.key, p.at <= $2::timestamptz AS old, p.due_at <= $2::timestamptz AND (d.due_at IS NULL OR d.due_at = 'infinity') AS goes
  FROM (SELECT key, at, due_at FROM {schema}.publications WHERE key > $1 ORDER BY key LIMIT $3::bigint) p
  LEFT JOIN LATERAL (SELECT d.due_at FROM {schema}.due d WHERE d.publication = p.key OFFSET 0) d ON true),
gone AS (DELETE FROM {schema}.publications WHERE key = ANY(ARRAY(SELECT key FROM old WHERE old AND goes)) RETURNING key),
aside AS (DELETE FROM {schema}.due WHERE publication = ANY(ARRAY(SELECT key FROM gone)))
SELECT CASE WHEN bool_and(old) AND count(*) = $3::bigint THEN max(key) END FROM old
