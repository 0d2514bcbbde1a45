-- A queue.
SELECT key, name, visibility_ns, max_receives, paused, limits FROM queues WHERE name = ?1
