-- What a process has counted. By key.
INSERT INTO metrics (process, revision, put_at, says) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (process) DO UPDATE SET revision = excluded.revision, put_at = excluded.put_at, says = excluded.says
