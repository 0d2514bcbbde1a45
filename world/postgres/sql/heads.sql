-- Messages of groups that may be received, behind one, and their groups. It locks nothing. Index messages_heads.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now), q AS MATERIALIZED (SELECT key FROM {schema}.queues WHERE name = $1 AND paused IS NULL)
SELECT m.queue, m.key, m.grp, m.visible_at FROM {schema}.messages m WHERE m.queue = (SELECT key FROM q) AND m.grp IS NOT NULL AND m.visible_at < 'infinity'
  AND m.visible_at <= (SELECT now FROM clock) AND (m.visible_at, m.key) > ($2::timestamptz, $3::bigint) ORDER BY m.visible_at, m.key LIMIT $4::bigint
