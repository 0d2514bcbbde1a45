-- The same of those that were made of one. Index runs_origin.
SELECT created_at, key FROM {schema}.runs
WHERE (origin_run, created_at, key) < ($6, $1::timestamptz, $2::bigint) AND (origin_run, created_at, key) >= ($6, $3::timestamptz, $4::bigint)
  AND origin_run IS NOT NULL
ORDER BY origin_run DESC, created_at DESC, key DESC OFFSET $5::bigint - 1 LIMIT 1
