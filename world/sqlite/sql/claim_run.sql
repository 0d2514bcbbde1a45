-- A fork that is held, and is claimed to be cancelled, has begun with that.
-- A worker claims a run; taken stays what it was where the log has lost its end. By key; index log_run.
UPDATE queue SET owner = ?2, take = take + 1, mail_us = NULL, cancel = 0, paused = paused OR resumed, resumed = 0, held = held AND NOT running,
  taken = max(taken, coalesce((SELECT seq + n - 1 FROM log WHERE run = ?1 ORDER BY seq DESC LIMIT 1), 0))
WHERE run = ?1 AND owner IS NULL
