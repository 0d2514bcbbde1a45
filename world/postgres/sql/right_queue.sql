-- What the log of a run says of its row: running and paused; one that it was told to resume, and has not, is to be claimed for that. By key; index inbox_acts; the row
-- is locked.
UPDATE {schema}.queue q SET running = $2::boolean, paused = $3::boolean, ready_at = CASE WHEN q.owner IS NULL AND (NOT $3::boolean
  OR EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run AND (i.cancel OR i.act IS NOT NULL) AND i.act = 'run_resumed')) THEN q.wake_at END, parked_at = NULL
WHERE q.run = $1::bigint
