-- The last commit of a run, whole. Index log_run.
SELECT seq, n, format, head, body, sum FROM log WHERE run = ?1 ORDER BY seq DESC LIMIT 1
