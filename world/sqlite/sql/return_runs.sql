-- The runs of a worker that is gone come back, due at once; paused ones that it was told to resume, and has not, are to be claimed for that. Where it died
-- (?3), that is counted against those that got nowhere since it claimed them. Indexes queue_owner, inbox_run, log_run.
UPDATE queue SET owner = NULL, wake_us = ?2, paused = paused AND NOT r.waits, resumed = r.waits,
  strikes = CASE WHEN ?3 AND taken = (SELECT seq + n - 1 FROM log WHERE run = queue.run ORDER BY seq DESC LIMIT 1)
    THEN strikes + 1 ELSE 0 END,
  mail_us = (SELECT min(arrived_us) FROM inbox WHERE run = queue.run),
  cancel = coalesce((SELECT max(cancel) FROM inbox WHERE run = queue.run), 0)
FROM (SELECT run, CASE WHEN paused THEN EXISTS (SELECT 1 FROM inbox i
    WHERE i.run = q.run AND CASE WHEN json_valid(head) THEN head ->> '$.e[0].y' END = 'run_resumed') ELSE 0 END AS waits
  FROM queue q WHERE owner = ?1) r
WHERE queue.run = r.run
