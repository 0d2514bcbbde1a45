-- What was absorbed long ago. All rows: one a process.
DELETE FROM metrics WHERE says = '' AND put_at < ?1
