-- The last batch of a stream. Index chunks_run.
SELECT idx, n, kind, step, attempt, pos FROM chunks WHERE run = ?1 AND stream = ?2 ORDER BY idx DESC LIMIT 1
