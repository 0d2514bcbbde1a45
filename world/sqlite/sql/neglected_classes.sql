-- The classes of runs that nobody owns, and that no worker has who is alive at ?1, where there are limits. Indexes queue_ready, queue_placed.
SELECT c.key FROM classes c WHERE EXISTS (SELECT 1 FROM limits)
  AND (EXISTS (SELECT 1 FROM queue q WHERE q.class = c.key AND q.ready_us IS NOT NULL)
    OR EXISTS (SELECT 1 FROM queue q WHERE q.class = c.key AND q.owner IS NULL AND q.has + (q.parked_us IS NOT NULL) > 0))
  AND NOT EXISTS (SELECT 1 FROM workers w CROSS JOIN json_each(CASE WHEN json_valid(w.classes) THEN w.classes ELSE '[]' END) j
    WHERE w.until_us > ?1 AND j.value ->> 'workflow' = c.workflow AND j.value ->> 'version' = c.version)
ORDER BY c.key
