-- Somebody paused or resumed a run that nobody owns; it is due ($3) at once then, or when it would have been, but not before. By key; the row is locked.
UPDATE {schema}.queue q SET paused = $2::boolean, taken = greatest(q.taken, $4::bigint), wake_at = CASE WHEN $2::boolean THEN q.wake_at ELSE d.due END,
  ready_at = CASE WHEN NOT $2::boolean THEN d.due END, parked_at = NULL
FROM (SELECT CASE WHEN $3::boolean THEN clock_timestamp() WHEN wake_at IS NOT NULL THEN greatest(wake_at, clock_timestamp()) END AS due
  FROM {schema}.queue WHERE run = $1::bigint) d
WHERE q.run = $1::bigint
