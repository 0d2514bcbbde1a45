-- What is before those marks goes, at most ?3 batches. Index chunks_run.
DELETE FROM chunks WHERE rowid IN (
  SELECT g.rowid
  FROM (SELECT s.stream, coalesce((SELECT k.idx FROM chunks k WHERE k.run = ?1 AND k.stream = s.stream AND k.segment >= ?2 ORDER BY k.idx LIMIT 1),
                                  9223372036854775807) AS idx
        FROM (SELECT DISTINCT stream FROM chunks WHERE run = ?1) s) e
  JOIN chunks g ON g.run = ?1 AND g.stream = e.stream AND g.idx < (
    SELECT c.idx FROM chunks c
    WHERE c.run = ?1 AND c.stream = e.stream AND c.idx < e.idx AND c.kind NOT IN ('close', 'error') ORDER BY c.idx DESC LIMIT 1)
  LIMIT ?3)
