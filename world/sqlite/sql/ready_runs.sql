-- The first runs of a class and priority that are ready. Index queue_ready.
SELECT run, ready_us, class, priority FROM queue
WHERE class = ?1 AND priority = ?2 AND ready_us IS NOT NULL AND ready_us <= ?3 ORDER BY ready_us LIMIT ?4
