-- Ends a process of the server, and tells whether it is there still.
SELECT coalesce(bool_or(pg_terminate_backend(pid)), false) FROM pg_stat_activity WHERE pid = $1::integer AND backend_start = $2::timestamptz
