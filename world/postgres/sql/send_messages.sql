-- Messages, in order, all or none: none where a queue is not there. Each tells its key and when it was sent.
WITH a AS MATERIALIZED (
  SELECT q.key AS queue, q.limits, u.keys, u.grp, u.priority, u.delay, u.head, u.body, u.sum, u.i
  FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[], $5::text[], $6::bytea[], $7::integer[], $8::text[])
    WITH ORDINALITY u(queue, grp, priority, delay, head, body, sum, keys, i) LEFT JOIN {schema}.queues q ON q.name = u.queue)
INSERT INTO {schema}.messages (queue, grp, priority, visible_at, head, body, sum, places)
SELECT a.queue, a.grp, a.priority, clock_timestamp() + a.delay * interval '1 microsecond', a.head, a.body, a.sum,
  CASE WHEN a.limits IS NOT NULL THEN {schema}.message_places(a.limits, a.body, a.keys) END
FROM a WHERE NOT EXISTS (SELECT FROM a x WHERE x.queue IS NULL) ORDER BY a.i
RETURNING key, sent_at
