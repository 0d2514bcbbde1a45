DELETE FROM queues WHERE key = ?1
