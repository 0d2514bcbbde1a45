-- When this process of the server began: its number may be used again.
SELECT backend_start FROM pg_stat_activity WHERE pid = pg_backend_pid()
