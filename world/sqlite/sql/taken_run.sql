-- A run that was just taken. By key.
SELECT r.id, q.take, q.class, q.running, q.priority, q.paused, q.blocked, q.taken, q.strikes, r.segment
FROM queue q CROSS JOIN runs r ON r.key = q.run WHERE q.run = ?1
