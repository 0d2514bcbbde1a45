-- The runs of a worker that is gone come back, due at once; a paused one that it was told to resume and had not is to be claimed for that. Where it died ($2),
-- that is counted against those that got nowhere since it claimed them. A row that somebody holds comes back the next time. Indexes queue_owner, log_run,
-- inbox_acts.
WITH mine AS (SELECT run, paused FROM {schema}.queue WHERE owner = $1 ORDER BY run FOR UPDATE SKIP LOCKED),
known AS (
  SELECT m.run, m.paused, m.paused AND EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = m.run AND (i.cancel OR i.act IS NOT NULL) AND i.act = 'run_resumed' OFFSET 0) AS resumed,
    (SELECT least(l.seq, 4611686018427387904) + l.n - 1 FROM {schema}.log l WHERE l.run = m.run ORDER BY l.seq DESC LIMIT 1) AS last
  FROM mine m),
back AS (
  UPDATE {schema}.queue q SET owner = NULL, wake_at = clock_timestamp(), ready_at = CASE WHEN k.resumed OR NOT k.paused THEN clock_timestamp() END,
    strikes = CASE WHEN $2 AND q.taken = k.last THEN least(q.strikes, 2147483646) + 1 ELSE 0 END
  FROM known k WHERE q.run = k.run RETURNING q.run)
SELECT count(*) FROM back
