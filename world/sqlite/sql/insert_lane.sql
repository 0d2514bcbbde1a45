-- The lane through which a worker writes.
INSERT INTO lanes (worker, lane, alive) VALUES (?1, 0, 1)
