-- A delivery; one that waits already is ignored. Index inbox_run.
INSERT INTO inbox (run, delivery, arrived_us, cancel, payload, format, head, body, key, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT DO NOTHING
