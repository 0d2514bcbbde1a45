-- Owners give their runs up; resumed: it is paused, and is to be claimed for a resumption that waits. By key; the rows are locked.
UPDATE {schema}.queue q SET class = a.class, running = a.running, paused = a.paused, owner = NULL, strikes = 0, taken = greatest(q.taken, a.last), wake_at = a.wake,
  ready_at = CASE WHEN a.resumed OR NOT a.paused THEN a.wake END,
  blocked = a.blocked, "full" = a."full", waiting = a.waiting, released = a.released
FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::boolean[], $5::timestamptz[], $6::text[], $7::boolean[], $8::text[], $9::bytea[], $10::boolean[],
  $11::bigint[])
  a(run, class, running, paused, wake, blocked, "full", waiting, released, resumed, last) WHERE q.run = a.run
