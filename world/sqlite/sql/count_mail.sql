-- How much mail a run has. Index inbox_run, covering.
SELECT count(*) FROM inbox WHERE run = ?1
