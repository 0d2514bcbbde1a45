-- The runs of a worker that is gone come back, due at once. Indexes queue_owner, inbox_run.
UPDATE queue SET owner = NULL, wake_us = ?2,
  mail_us = (SELECT min(arrived_us) FROM inbox WHERE run = queue.run),
  cancel = coalesce((SELECT max(cancel) FROM inbox WHERE run = queue.run), 0)
WHERE owner = ?1
