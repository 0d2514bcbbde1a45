-- The runs of a worker, as they are ready when its lease is over: of the classes in ?2, JSON of [workflow, version], and those that are to be cancelled.
-- Indexes queue_owner, inbox_run.
SELECT r.id, q.priority, n.workflow, n.version
FROM queue q CROSS JOIN runs r ON r.key = q.run JOIN classes n ON n.key = q.class
WHERE q.owner = ?1 AND (NOT q.paused OR EXISTS (SELECT 1 FROM inbox i WHERE i.run = q.run))
  AND (EXISTS (SELECT 1 FROM json_each(?2) j WHERE n.workflow = j.value ->> 0 AND n.version = j.value ->> 1)
    OR EXISTS (SELECT 1 FROM inbox i WHERE i.run = q.run AND i.cancel))
LIMIT ?3
