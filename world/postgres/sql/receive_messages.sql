-- Receives messages without a group; those that were received too often are dead. $3 is from when on to look, for the priorities 3, 2, 1, 0. $5: only these, null: all.
-- Index messages_ready, which wants to be told of infinity, and a clock that stands still.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
q AS MATERIALIZED (SELECT key, max_receives, coalesce($4::bigint, visibility_ns / 1000) * interval '1 microsecond' AS visibility FROM {schema}.queues WHERE name = $1 AND paused IS NULL),
c AS MATERIALIZED (
  SELECT x.key, x.visible_at, x.error FROM unnest('{3,2,1,0}'::smallint[], $3::timestamptz[]) WITH ORDINALITY p(priority, low, i)
  CROSS JOIN LATERAL (SELECT m.key, m.visible_at, m.error FROM {schema}.messages m WHERE m.queue = (SELECT key FROM q) AND m.priority = p.priority AND m.grp IS NULL
    AND m.visible_at < 'infinity' AND m.visible_at <= (SELECT now FROM clock) AND m.visible_at >= p.low AND ($5::bigint[] IS NULL OR m.key = ANY($5))
    ORDER BY m.visible_at, m.key LIMIT $2::bigint FOR UPDATE SKIP LOCKED) x ORDER BY p.i LIMIT $2::bigint)
UPDATE {schema}.messages m SET
  visible_at = CASE WHEN m.receives >= q.max_receives THEN 'infinity' ELSE (SELECT now FROM clock) + q.visibility END,
  dead = m.receives >= q.max_receives, error = CASE WHEN m.receives >= q.max_receives THEN m.error END, held = m.receives < q.max_receives,
  receives = m.receives + (m.receives < q.max_receives)::integer, fence = least(m.fence, 2147483646) + (m.receives < q.max_receives)::integer
FROM c, q WHERE m.key = c.key
RETURNING m.key, m.grp, m.priority, m.visible_at, m.receives, m.fence, m.held, m.dead, m.sent_at, c.error, m.head, m.body, m.sum, c.visible_at
