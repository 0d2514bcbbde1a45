-- The paused runs of a worker to which a resumption was sent that it has not appended. Indexes queue_owner, inbox_run.
SELECT r.id FROM queue q JOIN runs r ON r.key = q.run
WHERE q.owner = ?1 AND q.paused
  AND EXISTS (SELECT 1 FROM inbox WHERE run = q.run AND CASE WHEN json_valid(head) THEN head ->> '$.e[0].y' END = 'run_resumed')
