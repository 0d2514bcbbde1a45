-- The last commit of a run. Index log_run.
SELECT seq, n FROM log WHERE run = ?1 ORDER BY seq DESC LIMIT 1
