-- Runs have attributes no more, or other values of them. Index attributes_pkey.
DELETE FROM {schema}.attributes a USING unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[]) u(name, value, created_at, run)
WHERE a.name = u.name AND a.value = u.value AND a.created_at = u.created_at AND a.run = u.run
