-- A row of the queue that is of no run, or of one that cannot be found: nobody is given it again; doctor names it. By key.
UPDATE queue SET owner = NULL, wake_us = NULL, paused = 1, blocked = '{"code":"CORRUPTED_EVENT_LOG","message":"there is no such run"}' WHERE run = ?1
