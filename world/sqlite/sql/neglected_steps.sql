-- The steps of tasks that nobody holds, and that no worker has who is alive at ?1, where there are limits. Index tasks_ready.
WITH RECURSIVE names (name) AS (
  SELECT (SELECT name FROM tasks WHERE worker IS NULL AND name > '' ORDER BY name LIMIT 1) WHERE EXISTS (SELECT 1 FROM limits)
  UNION ALL
  SELECT (SELECT t.name FROM tasks t WHERE t.worker IS NULL AND t.name > n.name ORDER BY t.name LIMIT 1) FROM names n WHERE n.name IS NOT NULL)
SELECT n.name FROM names n WHERE n.name IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM workers w CROSS JOIN json_each(CASE WHEN json_valid(w.steps) THEN w.steps ELSE '[]' END) s WHERE w.until_us > ?1 AND s.value = n.name)
