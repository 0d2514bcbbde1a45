-- Each shape once: a probe of listens_hash for each.
WITH RECURSIVE s (shape) AS (
  SELECT min(shape) FROM listens
  UNION ALL
  SELECT (SELECT min(l.shape) FROM listens l WHERE l.shape > s.shape) FROM s WHERE s.shape IS NOT NULL)
SELECT shape FROM s WHERE shape IS NOT NULL
