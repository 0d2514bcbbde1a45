-- Whether a cancel waits for a run. Index inbox_run.
SELECT 1 FROM {schema}.inbox i WHERE i.run = $1::bigint AND i.cancel LIMIT 1
