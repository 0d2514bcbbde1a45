-- A queue.
SELECT key, name, visibility_ns, max_receives, paused FROM queues WHERE name = ?1
