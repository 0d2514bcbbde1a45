-- Runs that have been due for a minute (before ?1) and that nobody claimed, by workflow and version: how many, since when, and whether a worker whose
-- lease runs (after ?2) has registered them. Index queue_ready.
SELECT c.workflow, c.version, count(*), min(q.ready_us), EXISTS (
         SELECT 1 FROM workers w, json_each(CASE WHEN json_valid(w.classes) THEN w.classes END) j
         WHERE w.until_us > ?2 AND j.value ->> '$.workflow' = c.workflow AND j.value ->> '$.version' = c.version)
FROM classes c CROSS JOIN queue q ON q.class = c.key AND q.priority IN (0, 1, 2, 3) AND q.ready_us IS NOT NULL AND q.ready_us < ?1
GROUP BY c.key ORDER BY min(q.ready_us)
