-- Streams of runs, in rows of chunks.

-- name: insert_chunks
-- A batch of chunks, in the newest segment of its run. A number that is taken fails: index chunks_run. Parameters without names, as in insert_log.
INSERT INTO chunks (run, stream, idx, n, kind, step, attempt, pos, at_us, data, sum, segment)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT segment FROM runs WHERE key = ?))

-- name: last_chunks
-- The last batch of a stream. Index chunks_run.
SELECT idx, n, kind, step, attempt, pos FROM chunks WHERE run = ?1 AND stream = ?2 ORDER BY idx DESC LIMIT 1

-- name: find_chunks
-- A batch that may have been written already. Index chunks_run.
SELECT idx FROM chunks WHERE run = ?1 AND stream = ?2 AND step = ?3 AND attempt = ?4 AND pos = ?5

-- name: void_chunks
-- What earlier attempts of a step wrote at a number and behind is void. Index chunks_run.
DELETE FROM chunks WHERE run = ?1 AND stream = ?2 AND idx >= ?3 AND step = ?4 AND attempt < ?5 AND kind <> 'reset'

-- name: cut_chunks
-- The same, of the batch in which that number is. Index chunks_run.
UPDATE chunks SET n = ?3 - idx
WHERE run = ?1 AND stream = ?2 AND idx < ?3 AND idx + n > ?3 AND step = ?4 AND attempt < ?5 AND kind = 'data'

-- name: stream_run
-- The key of a run, and whether it is over. Index runs_id.
SELECT key, status IS NOT NULL FROM runs WHERE ns = 0 AND id = ?1

-- name: read_chunks
-- A stream from the batch that holds a number on. Index chunks_run.
SELECT idx, n, kind, step, attempt, at_us, data, sum, pos FROM chunks
WHERE run = ?1 AND stream = ?2
  AND idx >= coalesce((SELECT idx FROM chunks WHERE run = ?1 AND stream = ?2 AND idx <= ?3 ORDER BY idx DESC LIMIT 1), 0)
ORDER BY idx

-- name: list_streams
-- The streams of a run, each with its last batch. Indexes runs_id, chunks_run.
SELECT c.stream, c.idx + c.n, c.kind, c.at_us
FROM (SELECT x.run, x.stream, max(x.idx) AS idx FROM runs r JOIN chunks x ON x.run = r.key WHERE r.ns = 0 AND r.id = ?1 GROUP BY x.run, x.stream) last
JOIN chunks c ON c.run = last.run AND c.stream = last.stream AND c.idx = last.idx
ORDER BY c.stream
