-- Each shape once: a probe of listens_hash for each.
WITH RECURSIVE s (shape) AS (
  (SELECT shape FROM {schema}.listens ORDER BY shape LIMIT 1)
  UNION ALL
  SELECT (SELECT l.shape FROM {schema}.listens l WHERE l.shape > s.shape ORDER BY l.shape LIMIT 1) FROM s WHERE s.shape IS NOT NULL)
SELECT shape FROM s WHERE shape IS NOT NULL
