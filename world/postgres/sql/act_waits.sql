-- Whether an operator's act of one of two types waits. Index inbox_acts.
SELECT 1 FROM {schema}.inbox WHERE run = $1::bigint AND act IN ($2::text, $3::text) LIMIT 1
