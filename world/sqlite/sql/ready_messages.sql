-- The first messages of a priority that can be received. Index messages_ready.
SELECT m.key, m.grp, m.priority, m.ready_us, m.receives, m.fence, m.held, m.dead, m.sent_us, m.error, b.head, b.body, b.sum, m.places IS NOT NULL
FROM messages m LEFT JOIN message_bodies b ON b.key = m.key
WHERE m.queue = ?1 AND m.priority = ?2 AND m.ready_us <= ?3 ORDER BY m.ready_us, m.key LIMIT ?4
