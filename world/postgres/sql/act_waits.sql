-- Whether an operator's act waits. Index inbox_acts.
SELECT 1 FROM {schema}.inbox WHERE run = $1::bigint AND (cancel OR act IS NOT NULL) AND act IS NOT NULL LIMIT 1
