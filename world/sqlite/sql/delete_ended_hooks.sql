-- The run is swept. Index ended_hooks_run.
DELETE FROM ended_hooks WHERE run = ?1
