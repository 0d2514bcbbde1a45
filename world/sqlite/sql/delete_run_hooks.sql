-- The run is over. Index hooks_run.
DELETE FROM hooks WHERE run = ?1
