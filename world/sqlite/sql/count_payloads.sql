-- How many payloads a run has not read. Index inbox_run.
SELECT count(*) FROM inbox WHERE run = ?1 AND payload
