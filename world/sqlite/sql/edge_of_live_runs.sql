-- The same of those that are not over. By key of the queue.
SELECT run FROM queue WHERE run < ?1 ORDER BY run DESC LIMIT 1 OFFSET ?2
