-- Whether a delivery ID waits that an earlier release accepted. Index inbox_run.
SELECT 1 FROM inbox WHERE run = ?1 AND delivery = ?2 AND key = x''
