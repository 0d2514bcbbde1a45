-- The same of one workflow. Index runs_workflow.
SELECT created_at, key FROM {schema}.runs
WHERE workflow = $6 AND (created_at, key) < ($1::timestamptz, $2::bigint) AND (created_at, key) >= ($3::timestamptz, $4::bigint)
ORDER BY created_at DESC, key DESC OFFSET $5::bigint - 1 LIMIT 1
