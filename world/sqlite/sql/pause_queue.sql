-- Pauses a queue, or ends that: null.
UPDATE queues SET paused = ?2 WHERE name = ?1
