-- A message that needs places. By key.
SELECT m.key, m.priority, m.sent_us, q.name, m.places, 0, m.has, m.parked_us, m.rates FROM messages m CROSS JOIN queues q ON q.key = m.queue
WHERE m.key = ?1 AND m.places IS NOT NULL
