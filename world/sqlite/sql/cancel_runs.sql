-- The first runs of a priority (?3) that are to be cancelled, of any class, but for those whose code is needed and which another worker has. ?2: JSON of
-- [workflow, version] that the worker has. Each is due since its cancel came, or what came or fell due before. Indexes queue_cancel, inbox_cancel.
SELECT run, min(asked, coalesce(ready_us, asked)), class, priority FROM (
  SELECT run, class, priority, ready_us, coalesce((SELECT min(arrived_us) FROM inbox i WHERE i.run = q.run AND i.cancel), mail_us) AS asked
  FROM queue q WHERE cancel AND owner IS NULL AND priority = ?3
    AND (NOT running OR blocked IS NOT NULL
      OR parked_us IS NULL AND EXISTS (SELECT 1 FROM classes c, json_each(?2) j WHERE c.key = q.class AND c.workflow = j.value ->> 0 AND c.version = j.value ->> 1)
      OR NOT EXISTS (SELECT 1 FROM classes c, workers k, json_each(CASE WHEN json_valid(k.classes) THEN k.classes END) j
        WHERE c.key = q.class AND c.workflow = j.value ->> 'workflow' AND c.version = j.value ->> 'version'))
  ORDER BY mail_us LIMIT ?1)
