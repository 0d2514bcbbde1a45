-- The first runs that are to be cancelled, as in cancel_runs, for who only looks. Index queue_cancel.
SELECT r.id, q.mail_us, q.priority, n.workflow, n.version
FROM queue q CROSS JOIN runs r ON r.key = q.run JOIN classes n ON n.key = q.class WHERE q.cancel AND q.owner IS NULL
  AND (NOT q.running OR q.blocked IS NOT NULL
    OR EXISTS (SELECT 1 FROM classes c, json_each(?2) j WHERE c.key = q.class AND c.workflow = j.value ->> 0 AND c.version = j.value ->> 1)
    OR NOT EXISTS (SELECT 1 FROM classes c, workers k, json_each(CASE WHEN json_valid(k.classes) THEN k.classes END) j
      WHERE c.key = q.class AND c.workflow = j.value ->> 'workflow' AND c.version = j.value ->> 'version'))
ORDER BY q.mail_us LIMIT ?1
