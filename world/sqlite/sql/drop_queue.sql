-- Deletes a queue.
DELETE FROM queues WHERE key = ?1
