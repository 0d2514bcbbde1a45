-- How long statements wait for the locks of others, and from here on for $1 at most, in this transaction; and whether one was begun for the body
-- of a step: see beginStep.
SELECT b.before, set_config('lock_timeout', CASE WHEN b.before::interval > '0' AND b.before::interval < $1::text::interval THEN b.before ELSE $1::text END, true), coalesce(current_setting('stepwell.body', true), '') = 'on'
FROM (SELECT current_setting('lock_timeout') AS before OFFSET 0) b
