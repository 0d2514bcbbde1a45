-- The commit of a run that begins at a number. Index log_run.
SELECT format, head, body, sum FROM log WHERE run = ?1 AND seq = ?2
