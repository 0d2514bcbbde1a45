-- A hook is disposed. Index hooks_run.
DELETE FROM hooks WHERE run = ?1 AND id = ?2
