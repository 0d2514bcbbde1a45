-- How long this transaction waits for a lock. A stranger may hold one: whoever comes next tries again.
SELECT set_config('lock_timeout', '3s', true)
