-- The run that stands $5 runs before the run ($1, $2), and not before ($3, $4): a page looks no further. Index runs_created.
SELECT created_at, key FROM {schema}.runs
WHERE (created_at, key) < ($1::timestamptz, $2::bigint) AND (created_at, key) >= ($3::timestamptz, $4::bigint)
ORDER BY created_at DESC, key DESC OFFSET $5::bigint - 1 LIMIT 1
