-- The same of the children of one. Index runs_parent.
SELECT created_at, key FROM {schema}.runs
WHERE (parent_run, created_at, key) < ($6, $1::timestamptz, $2::bigint) AND (parent_run, created_at, key) >= ($6, $3::timestamptz, $4::bigint)
  AND parent_run IS NOT NULL
ORDER BY parent_run DESC, created_at DESC, key DESC OFFSET $5::bigint - 1 LIMIT 1
