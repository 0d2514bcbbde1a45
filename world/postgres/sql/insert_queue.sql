-- Queue rows of runs that are born; due at once unless they were to start later.
INSERT INTO {schema}.queue (run, class, running, priority, owner, take, wake_at, ready_at, paused)
SELECT b.run, b.class, b.running, b.priority, b.owner, b.take, greatest(b.wake, clock_timestamp()),
  CASE WHEN b.owner IS NULL AND NOT b.paused THEN greatest(b.wake, clock_timestamp()) END, b.paused
FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::smallint[], $5::bigint[], $6::bigint[], $7::timestamptz[], $8::boolean[])
  b(run, class, running, priority, owner, take, wake, paused)
