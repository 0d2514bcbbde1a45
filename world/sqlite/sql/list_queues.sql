-- All queues.
SELECT key, name, visibility_ns, max_receives, paused FROM queues ORDER BY name
