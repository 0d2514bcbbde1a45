-- The last commit of a run, whole. Index log_run.
SELECT seq, n, format, head, body, sum FROM log WHERE run = ?1 AND seq < 9223372036854775807 ORDER BY seq DESC LIMIT 1
