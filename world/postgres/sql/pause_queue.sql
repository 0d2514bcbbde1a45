-- Pauses a queue, or ends that: null.
UPDATE {schema}.queues SET paused = $2 WHERE name = $1
