-- The last commit of a run, whole. Index log_run.
SELECT seq, format, head, body, sum FROM {schema}.log WHERE run = $1::bigint ORDER BY seq DESC LIMIT 1
