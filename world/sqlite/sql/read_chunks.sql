-- A stream from the batch that holds a number on. Index chunks_run.
SELECT idx, n, kind, step, attempt, at_us, data, sum, pos FROM chunks
WHERE run = ?1 AND stream = ?2
  AND idx >= coalesce((SELECT idx FROM chunks WHERE run = ?1 AND stream = ?2 AND idx <= ?3 ORDER BY idx DESC LIMIT 1), 0)
ORDER BY idx
