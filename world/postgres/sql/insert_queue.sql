-- Queue rows of runs that are created: due at once unless they were to start later, or as their worker says that gives them up with their birth (rest). Of a
-- workflow that is held they are not to begin: see move_held.
INSERT INTO {schema}.queue (run, class, running, priority, owner, take, wake_at, ready_at, paused, blocked, "full", waiting)
SELECT b.run, CASE WHEN h.workflow IS NULL OR b.take > 0 THEN b.class ELSE -b.class END, b.running, b.priority, b.owner, b.take, CASE WHEN b.rest THEN b.wake ELSE greatest(b.wake, clock_timestamp()) END,
  CASE WHEN b.owner IS NULL AND NOT b.paused THEN CASE WHEN b.rest THEN b.wake ELSE greatest(b.wake, clock_timestamp()) END END,
  b.paused, b.blocked, b."full", b.waiting
FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::smallint[], $5::bigint[], $6::bigint[], $7::timestamptz[], $8::boolean[], $9::boolean[],
  $10::text[], $11::boolean[], $12::text[], $13::text[])
  b(run, class, running, priority, owner, take, wake, paused, rest, blocked, "full", waiting, workflow)
LEFT JOIN {schema}.holds h ON h.workflow = b.workflow AND h.state < 2
