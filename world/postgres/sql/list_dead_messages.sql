-- Index messages_parked.
SELECT m.key, m.grp, m.priority, m.visible_at, m.receives, m.fence, m.held, m.dead, m.sent_at, m.error, m.head, m.body, m.sum, clock_timestamp()
FROM {schema}.messages m WHERE m.queue = (SELECT key FROM {schema}.queues WHERE name = $1) AND m.visible_at = 'infinity' AND m.dead AND m.key > $2 ORDER BY m.key LIMIT $3::bigint
