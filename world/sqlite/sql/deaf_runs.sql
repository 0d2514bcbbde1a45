-- Runs that are over and have waits that listen.
SELECT DISTINCT run FROM listens l WHERE NOT EXISTS (SELECT 1 FROM queue q WHERE q.run = l.run) LIMIT ?1
