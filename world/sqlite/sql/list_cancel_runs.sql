-- The first runs of a priority (?3) that are to be cancelled, as in cancel_runs, for who only looks. Indexes queue_cancel, inbox_cancel.
SELECT id, min(asked, coalesce(ready_us, asked)), priority, workflow, version FROM (
  SELECT r.id, q.priority, q.ready_us, n.workflow, n.version,
    coalesce((SELECT min(arrived_us) FROM inbox i WHERE i.run = q.run AND i.cancel), q.mail_us) AS asked
  FROM queue q CROSS JOIN runs r ON r.key = q.run JOIN classes n ON n.key = q.class WHERE q.cancel AND q.owner IS NULL AND q.priority = ?3
    AND (NOT q.running OR q.blocked IS NOT NULL
      OR q.parked_us IS NULL AND EXISTS (SELECT 1 FROM classes c, json_each(?2) j WHERE c.key = q.class AND c.workflow = j.value ->> 0 AND c.version = j.value ->> 1)
      OR NOT EXISTS (SELECT 1 FROM classes c, workers k, json_each(CASE WHEN json_valid(k.classes) THEN k.classes END) j
        WHERE c.key = q.class AND c.workflow = j.value ->> 'workflow' AND c.version = j.value ->> 'version'))
  ORDER BY q.mail_us LIMIT ?1)
