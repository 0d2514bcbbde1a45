-- The first runs that are to be cancelled, of any class, but for those whose code is needed and which another worker has. ?2: JSON of [workflow, version] that
-- the worker has. Index queue_cancel.
SELECT run, mail_us, q.class, priority FROM queue q WHERE cancel AND owner IS NULL
  AND (NOT running OR blocked IS NOT NULL
    OR EXISTS (SELECT 1 FROM classes c, json_each(?2) j WHERE c.key = q.class AND c.workflow = j.value ->> 0 AND c.version = j.value ->> 1)
    OR NOT EXISTS (SELECT 1 FROM classes c, workers k, json_each(CASE WHEN json_valid(k.classes) THEN k.classes END) j
      WHERE c.key = q.class AND c.workflow = j.value ->> 'workflow' AND c.version = j.value ->> 'version'))
ORDER BY mail_us LIMIT ?1
