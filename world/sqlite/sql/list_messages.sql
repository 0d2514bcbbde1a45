-- Messages of a queue in order, behind one: all, or from ?2 on dead ones. Index messages_queue.
SELECT m.key, m.grp, m.priority, m.ready_us, m.receives, m.fence, m.held, m.dead, m.sent_us, m.error, b.head, b.body, b.sum, m.places IS NOT NULL
FROM messages m LEFT JOIN message_bodies b ON b.key = m.key
WHERE m.queue = ?1 AND m.dead >= ?2 AND m.key > ?3 ORDER BY m.key LIMIT ?4
