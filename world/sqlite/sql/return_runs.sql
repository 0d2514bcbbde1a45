-- The runs of a worker that is gone come back, due at once. Where it died (?3), that is counted against those that got nowhere since it
-- took them. Indexes queue_owner, inbox_run, log_run.
UPDATE queue SET owner = NULL, wake_us = ?2,
  strikes = CASE WHEN ?3 AND taken = (SELECT seq + n - 1 FROM log WHERE run = queue.run ORDER BY seq DESC LIMIT 1)
    THEN strikes + 1 ELSE 0 END,
  mail_us = (SELECT min(arrived_us) FROM inbox WHERE run = queue.run),
  cancel = coalesce((SELECT max(cancel) FROM inbox WHERE run = queue.run), 0)
WHERE owner = ?1
