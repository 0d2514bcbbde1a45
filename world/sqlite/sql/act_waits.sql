-- Whether mail of one of two types waits, an operator's act: acts come alone. Index inbox_run.
SELECT 1 FROM inbox WHERE run = ?1 AND CASE WHEN json_valid(head) THEN head ->> '$.e[0].y' END IN (?2, ?3) LIMIT 1
