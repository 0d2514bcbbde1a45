-- What a process has given last, and whether it stands: it was not absorbed. Index metrics_pkey.
SELECT m.revision, m.says <> '' FROM {schema}.metrics m WHERE m.process = $1 FOR UPDATE
