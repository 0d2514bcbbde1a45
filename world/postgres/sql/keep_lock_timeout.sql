-- How long statements of this session wait for the locks of others. Not for use behind a pooler.
SELECT set_config('lock_timeout', $1::text, false)
