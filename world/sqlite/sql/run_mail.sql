-- The mail of a run, in order of arrival. Index inbox_run.
SELECT row, delivery, arrived_us, format, head, body, sum FROM inbox WHERE run = ?1 ORDER BY row
