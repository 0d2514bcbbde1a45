-- The commit of a run that holds an event. Index log_run.
SELECT seq, format, head, body, sum FROM log WHERE run = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT 1
