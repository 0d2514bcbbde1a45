-- One commit. The unique index log_run is the last fence. The driver looks up the name of each parameter that has one, at each use: these
-- have none.
INSERT INTO log (run, seq, n, format, head, body, sum) VALUES (?, ?, ?, ?, ?, ?, ?)
