-- The commit of a run that begins at a number. Index log_run.
SELECT format, head, body, sum FROM {schema}.log WHERE run = $1::bigint AND seq = $2::bigint
