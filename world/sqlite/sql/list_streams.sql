-- The streams of a run, each with its last batch. Indexes runs_id, chunks_run.
SELECT c.stream, c.idx + c.n, c.kind, c.at_us
FROM (SELECT x.run, x.stream, max(x.idx) AS idx FROM runs r JOIN chunks x ON x.run = r.key WHERE r.ns = 0 AND r.id = ?1 GROUP BY x.run, x.stream) last
JOIN chunks c ON c.run = last.run AND c.stream = last.stream AND c.idx = last.idx
ORDER BY c.stream
