-- One commit. The unique index log_run is the last fence.
INSERT INTO log (run, seq, n, format, head, body) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
