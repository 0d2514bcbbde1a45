-- The run is over. Index inbox_run.
DELETE FROM inbox WHERE run = ?1
