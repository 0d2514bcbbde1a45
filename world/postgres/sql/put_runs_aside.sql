-- Rows of the queue that were given and are of no run: nobody is given them again; doctor names them. Index queue_owner.
UPDATE {schema}.queue q SET owner = NULL, wake_at = NULL, ready_at = NULL, paused = true, blocked = '{"code":"CORRUPTED_EVENT_LOG","message":"there is no such run"}'
WHERE q.owner IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = q.run)
