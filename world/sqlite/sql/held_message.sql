-- A message whose receipt holds.
SELECT m.queue, m.grp, q.name, m.places IS NOT NULL FROM messages m JOIN queues q ON q.key = m.queue WHERE m.key = ?1 AND m.fence = ?2 AND m.held
