-- A batch of chunks. A number that is taken fails: index chunks_run. Parameters without names, as in insert_log.
INSERT INTO chunks (run, stream, idx, n, kind, step, attempt, pos, at_us, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
