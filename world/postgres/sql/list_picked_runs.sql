-- The same of those with some keys ($7). Index runs_pkey.
SELECT {run}
FROM (
  SELECT r.* FROM unnest($7::bigint[]) k (key)
  CROSS JOIN LATERAL (
    SELECT * FROM {schema}.runs r
    WHERE r.key = k.key AND (r.created_at, r.key) < ($1::timestamptz, $2::bigint) AND (r.created_at, r.key) >= ($3::timestamptz, $4::bigint)
      AND ($5::text[] IS NULL
           OR coalesce(r.status, (SELECT CASE WHEN s.running THEN 'running' ELSE 'pending' END FROM {schema}.queue s WHERE s.run = r.key)) = ANY ($5))
    LIMIT 1) r
  ORDER BY r.created_at DESC, r.key DESC LIMIT $6) r
{beside}
ORDER BY r.created_at DESC, r.key DESC
