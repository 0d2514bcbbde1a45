-- A run is swept. Index log_run.
DELETE FROM log WHERE run = ?1
