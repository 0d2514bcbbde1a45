-- A run that gathers has taken an input, and begins at another time ($2). By key; the row is locked.
UPDATE {schema}.queue q SET taken = greatest(q.taken, $3::bigint), wake_at = $2::timestamptz, ready_at = CASE WHEN q.ready_at IS NOT NULL THEN $2::timestamptz END
WHERE q.run = $1::bigint
