-- The paused runs of a worker to which a resumption was sent that it has not appended. Indexes queue_owner, inbox_run.
SELECT r.id FROM queue q JOIN runs r ON r.key = q.run
WHERE q.owner = ?1 AND q.paused
  AND EXISTS (SELECT 1 FROM inbox WHERE run = q.run AND head ->> '$.e[0].y' = 'run_resumed')
