-- Whether a resumption waits, beside rows that a commit takes. Index inbox_acts.
SELECT 1 FROM {schema}.inbox WHERE run = $1::bigint AND (cancel OR act IS NOT NULL) AND act = 'run_resumed' AND NOT "row" = ANY($2::bigint[]) LIMIT 1
