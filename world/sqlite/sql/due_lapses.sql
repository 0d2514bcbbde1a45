-- Runs that are to have begun by ?1; no ID: it has begun, or is over. One that is made of another begins when it is claimed. By key.
SELECT l.due_us, l.run, l.ttl, r.id FROM lapses l LEFT JOIN queue q ON q.run = l.run AND (NOT q.running OR q.take = 0) LEFT JOIN runs r ON r.key = q.run
WHERE l.due_us <= ?1 ORDER BY l.due_us, l.run LIMIT ?2
