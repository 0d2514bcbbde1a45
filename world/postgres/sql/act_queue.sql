-- Somebody paused or resumed a run that nobody owns; it may be due ($3) at once then. By key; the row is locked.
UPDATE {schema}.queue SET paused = $2::boolean, wake_at = CASE WHEN $3::boolean THEN clock_timestamp() ELSE wake_at END,
  ready_at = CASE WHEN $2::boolean THEN NULL WHEN $3::boolean THEN clock_timestamp()
    WHEN wake_at IS NOT NULL THEN greatest(wake_at, clock_timestamp()) END
WHERE run = $1::bigint
