-- Whether a delivery ID waits. Index inbox_run.
SELECT 1 FROM inbox WHERE run = ?1 AND delivery = ?2
