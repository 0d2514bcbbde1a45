-- An operator wants a blocked run that nobody owns tried again at once, as if for the first time, or one that was to start later to start now. What a message quotes has its quotes escaped. By key; the
-- row is locked.
UPDATE {schema}.queue SET wake_at = clock_timestamp(), ready_at = CASE WHEN NOT paused AND parked_at IS NULL THEN clock_timestamp() END,
  blocked = regexp_replace(blocked, '"tries":\d+', '"tries":0')
WHERE run = $1::bigint
