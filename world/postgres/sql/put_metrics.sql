-- What a process has counted. Index metrics_pkey.
INSERT INTO {schema}.metrics (process, revision, put_at, says) VALUES ($1, $2, clock_timestamp(), $3)
ON CONFLICT (process) DO UPDATE SET revision = excluded.revision, put_at = excluded.put_at, says = excluded.says
