-- The first runs of a class and priority that are ready, or will be, for who only looks. Index queue_ready.
SELECT r.id, q.ready_us FROM queue q CROSS JOIN runs r ON r.key = q.run
WHERE q.class = ?1 AND q.priority = ?2 AND q.ready_us IS NOT NULL ORDER BY q.ready_us LIMIT ?3
