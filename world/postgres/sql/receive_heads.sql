-- Receives of groups that are held: of each its head, when its time has come, or where there is none the first; $4 at most. $5: only these, null: all.
-- Index messages_group.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
q AS MATERIALIZED (SELECT key, max_receives, coalesce($3::bigint, visibility_ns / 1000) * interval '1 microsecond' AS visibility FROM {schema}.queues WHERE key = $1),
c AS MATERIALIZED (
  SELECT x.key, x.visible_at, x.error FROM unnest($2::text[]) o(grp) JOIN {schema}.message_groups g ON g.queue = $1 AND g.grp = o.grp
  LEFT JOIN {schema}.messages h ON h.key = g.head AND NOT h.dead
  CROSS JOIN LATERAL (SELECT m.key, m.visible_at, m.error FROM {schema}.messages m WHERE m.key = coalesce(h.key,
      (SELECT z.key FROM {schema}.messages z WHERE z.queue = $1 AND z.grp = o.grp AND NOT z.dead ORDER BY z.key LIMIT 1))
    AND (h.key IS NULL OR m.visible_at <= (SELECT now FROM clock)) AND ($5::bigint[] IS NULL OR m.key = ANY($5)) FOR UPDATE SKIP LOCKED) x
  ORDER BY x.visible_at, x.key LIMIT $4::bigint),
set_head AS (
  UPDATE {schema}.message_groups g SET head = m.key FROM c JOIN {schema}.messages m ON m.key = c.key WHERE g.queue = $1 AND g.grp = m.grp AND g.head <> m.key)
UPDATE {schema}.messages m SET
  visible_at = CASE WHEN m.receives >= q.max_receives THEN 'infinity' ELSE (SELECT now FROM clock) + q.visibility END,
  dead = m.receives >= q.max_receives, error = CASE WHEN m.receives >= q.max_receives THEN m.error END, held = m.receives < q.max_receives,
  receives = m.receives + (m.receives < q.max_receives)::integer, fence = least(m.fence, 2147483646) + (m.receives < q.max_receives)::integer
FROM c, q WHERE m.key = c.key
RETURNING m.key, m.grp, m.priority, m.visible_at, m.receives, m.fence, m.held, m.dead, m.sent_at, c.error, m.head, m.body, m.sum, c.visible_at
