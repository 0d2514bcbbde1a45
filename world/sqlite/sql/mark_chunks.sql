-- What streams have of segments before the one at ?2 is not wanted any more: of its last batch the last number alone stays, so that the stream's numbers go on
-- behind it, and readers learn what is gone. A mark that closed the stream stays as it is. Index chunks_run.
UPDATE chunks SET idx = idx + n - 1, n = 1, kind = 'trim', step = '', attempt = 0, pos = -1, data = x''
WHERE kind <> 'trim' AND rowid IN (
  SELECT (SELECT c.rowid FROM chunks c
          WHERE c.run = ?1 AND c.stream = e.stream AND c.idx < e.idx AND c.kind NOT IN ('close', 'error') ORDER BY c.idx DESC LIMIT 1)
  FROM (SELECT s.stream, coalesce((SELECT k.idx FROM chunks k WHERE k.run = ?1 AND k.stream = s.stream AND k.segment >= ?2 ORDER BY k.idx LIMIT 1),
                                  9223372036854775807) AS idx
        FROM (SELECT DISTINCT stream FROM chunks WHERE run = ?1) s) e)
