-- How long statements wait for the locks of others, in the transaction of a step's body, and whether it is the one that was begun for that: see beginStep.
SELECT set_config('lock_timeout', $1::text, true), coalesce(current_setting('stepwell.body', true), '') = 'on'
