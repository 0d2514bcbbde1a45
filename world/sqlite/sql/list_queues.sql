-- All queues.
SELECT key, name, visibility_ns, max_receives, paused, limits FROM queues ORDER BY name
