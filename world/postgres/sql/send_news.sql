-- Tells other processes. It may be lost with the server, and so waits for no disk.
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2), clock_timestamp()
