-- One run, if it is ready for a worker with the classes in ?3, JSON of [workflow, version]; as in ready_runs and cancel_runs. Indexes runs_id, queue's key.
SELECT q.run FROM runs r CROSS JOIN queue q ON q.run = r.key
WHERE r.ns = 0 AND r.id = ?1 AND q.owner IS NULL AND (
  q.ready_us <= ?2 AND EXISTS (SELECT 1 FROM classes c, json_each(?3) j WHERE c.key = q.class AND c.workflow = j.value ->> 0 AND c.version = j.value ->> 1)
  OR q.cancel AND (NOT q.running OR q.blocked IS NOT NULL
    OR q.parked_us IS NULL AND EXISTS (SELECT 1 FROM classes c, json_each(?3) j WHERE c.key = q.class AND c.workflow = j.value ->> 0 AND c.version = j.value ->> 1)
    OR NOT EXISTS (SELECT 1 FROM classes c, workers k, json_each(CASE WHEN json_valid(k.classes) THEN k.classes END) j
      WHERE c.key = q.class AND c.workflow = j.value ->> 'workflow' AND c.version = j.value ->> 'version')))
