-- The same of those with an attribute. Index attributes_pkey.
SELECT created_at, run FROM {schema}.attributes
WHERE name = $6 AND value = $7 AND (created_at, run) < ($1::timestamptz, $2::bigint) AND (created_at, run) >= ($3::timestamptz, $4::bigint)
ORDER BY created_at DESC, run DESC OFFSET $5::bigint - 1 LIMIT 1
