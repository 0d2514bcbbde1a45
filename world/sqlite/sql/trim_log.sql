-- Some commits of a run, at most ?4, between its first and the one at ?2 go; those that hold an event that is named (JSON array of numbers) stay.
-- Index log_run.
DELETE FROM log WHERE rowid IN (
  SELECT rowid FROM log WHERE run = ?1 AND seq > 1 AND seq < ?2
    AND seq NOT IN (SELECT (SELECT l.seq FROM log l WHERE l.run = ?1 AND l.seq <= j.value ORDER BY l.seq DESC LIMIT 1) FROM json_each(?3) j)
  ORDER BY seq LIMIT ?4)
