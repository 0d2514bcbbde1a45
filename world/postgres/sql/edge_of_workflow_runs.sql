-- The same of one workflow. Index runs_workflow, as list_workflow_runs.
SELECT created_at, key FROM {schema}.runs
WHERE (workflow, created_at, key) < ($6, $1::timestamptz, $2::bigint) AND (workflow, created_at, key) >= ($6, $3::timestamptz, $4::bigint)
ORDER BY workflow DESC, created_at DESC, key DESC OFFSET $5::bigint - 1 LIMIT 1
