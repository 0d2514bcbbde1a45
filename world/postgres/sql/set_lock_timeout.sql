-- How long a statement of this transaction waits for the locks of others.
SELECT set_config('lock_timeout', $1::text, true)
