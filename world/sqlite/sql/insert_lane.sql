-- The lane through which a worker writes.
INSERT INTO lanes (worker, lane) VALUES (?1, 0)
