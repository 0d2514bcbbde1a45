-- What is to come in a queue, if there is one: whether it is open, the time, when the next message without a group can be received, and the next with one; and whether it has limits, or had.
-- $2 is from when on to look, for the priorities 3, 2, 1, 0, as in receive_messages, and $3 until when.
-- Indexes messages_ready, messages_heads.
SELECT q.paused IS NULL, clock_timestamp(),
  (SELECT min(x.visible_at) FROM unnest('{3,2,1,0}'::smallint[], $2::timestamptz[]) p(priority, low)
    CROSS JOIN LATERAL (SELECT m.visible_at FROM {schema}.messages m WHERE m.queue = q.key AND m.priority = p.priority AND m.grp IS NULL AND m.visible_at < 'infinity' AND m.visible_at >= p.low AND m.visible_at <= $3
      ORDER BY m.visible_at LIMIT 1) x),
  (SELECT m.visible_at FROM {schema}.messages m WHERE m.queue = q.key AND m.grp IS NOT NULL AND m.visible_at < 'infinity' ORDER BY m.visible_at LIMIT 1),
  q.limits IS NOT NULL
FROM {schema}.queues q WHERE q.name = $1
