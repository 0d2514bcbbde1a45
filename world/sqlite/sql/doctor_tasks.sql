-- The same of tasks, by step. All of the queue of tasks, on purpose.
SELECT t.name, 0, count(*), min(t.visible_us), EXISTS (
         SELECT 1 FROM workers w, json_each(CASE WHEN json_valid(w.steps) THEN w.steps END) j WHERE w.until_us > ?2 AND j.value = t.name)
FROM tasks t WHERE t.worker IS NULL AND t.visible_us < ?1 GROUP BY t.name ORDER BY min(t.visible_us)
