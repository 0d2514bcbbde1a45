-- How many runs before a key are not over, counted up to a few. By key of the queue.
SELECT count(*) FROM (SELECT 1 FROM queue WHERE run < ?1 LIMIT ?2)
