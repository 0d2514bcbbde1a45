-- Messages of commits, in order. Fails, as a column is null that may not be, where a queue is not there.
INSERT INTO {schema}.messages (queue, grp, priority, visible_at, head, body, sum, places)
SELECT q.key, u.grp, u.priority, clock_timestamp() + u.delay * interval '1 microsecond', u.head, u.body, u.sum,
  CASE WHEN q.limits IS NOT NULL THEN {schema}.message_places(q.limits, u.body, u.keys) END
FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[], $5::text[], $6::bytea[], $7::integer[], $8::text[])
  WITH ORDINALITY u(queue, grp, priority, delay, head, body, sum, keys, i) LEFT JOIN {schema}.queues q ON q.name = u.queue
ORDER BY u.i
