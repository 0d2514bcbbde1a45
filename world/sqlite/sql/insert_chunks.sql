-- A batch of chunks, in the newest segment of its run. A number that is taken fails: index chunks_run. Parameters without names, as in insert_log.
INSERT INTO chunks (run, stream, idx, n, kind, step, attempt, pos, at_us, data, sum, segment)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT segment FROM runs WHERE key = ?))
