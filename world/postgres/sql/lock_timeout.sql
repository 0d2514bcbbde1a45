-- How long statements wait for the locks of others.
SELECT current_setting('lock_timeout')
