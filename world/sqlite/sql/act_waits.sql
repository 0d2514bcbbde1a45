-- Whether mail of one of two types waits, an operator's act: acts come alone. Index inbox_run.
SELECT 1 FROM inbox WHERE run = ?1 AND head ->> '$.e[0].y' IN (?2, ?3) LIMIT 1
