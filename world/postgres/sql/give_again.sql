-- Rows of the queue that nobody has and nobody is given, although they are due at a time: somebody changed them by hand. All of the queue, on purpose.
UPDATE {schema}.queue SET ready_at = wake_at WHERE owner IS NULL AND NOT paused AND wake_at IS NOT NULL AND ready_at IS NULL AND parked_at IS NULL
