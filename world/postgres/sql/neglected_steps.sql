-- The steps of tasks that nobody holds, and that no live worker has, where there are limits. One that holds nothing need not renew its lease for a time
-- ($1, in µs). Index tasks_ready.
WITH RECURSIVE names (name) AS (
  SELECT (SELECT t.name FROM {schema}.tasks t WHERE t.worker IS NULL ORDER BY t.name LIMIT 1) WHERE EXISTS (SELECT FROM {schema}.limits OFFSET 0)
  UNION ALL
  SELECT (SELECT t.name FROM {schema}.tasks t WHERE t.worker IS NULL AND t.name > n.name ORDER BY t.name LIMIT 1) FROM names n WHERE n.name IS NOT NULL),
had AS MATERIALIZED (
  SELECT {schema}.readable(w.steps)::jsonb AS steps FROM {schema}.workers w
  WHERE w.ended IS NULL AND least(w.until, '9999-12-31T00:00:00Z') + $1::bigint * interval '1 microsecond' > clock_timestamp())
SELECT n.name FROM names n WHERE n.name IS NOT NULL AND NOT EXISTS (SELECT FROM had h WHERE h.steps ? n.name) ORDER BY n.name
