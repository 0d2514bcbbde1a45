-- How many runs created before the run ($1, $2), and from the run ($3, $4) on, have an attribute, counted up to $5, and when the oldest of those was
-- created. Index attributes_pkey.
SELECT count(*), min(created_at) FROM (
  SELECT created_at FROM {schema}.attributes
  WHERE name = $6 AND value = $7 AND (created_at, run) < ($1::timestamptz, $2::bigint) AND (created_at, run) >= ($3::timestamptz, $4::bigint)
  ORDER BY created_at DESC, run DESC LIMIT $5) a
