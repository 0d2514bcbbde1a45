-- The log of a run from the commit that holds an event on, and what it does not want any more. Index log_run.
SELECT seq, n, format, head, body, (SELECT trim FROM runs WHERE key = ?1), sum FROM log
WHERE run = ?1 AND seq >= coalesce((SELECT seq FROM log WHERE run = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT 1), 0)
ORDER BY seq LIMIT ?3
