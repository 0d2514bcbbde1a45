-- The last commit of a run. Index log_run.
SELECT seq, n FROM log WHERE run = ?1 AND seq < 9223372036854775807 ORDER BY seq DESC LIMIT 1
