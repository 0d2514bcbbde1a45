-- The same of those with an attribute ($7, $8), of one workflow ($9) or all. Indexes attributes_pkey, runs_pkey: one run after the other.
SELECT {run}
FROM (
  SELECT r.* FROM {schema}.attributes a
  CROSS JOIN LATERAL (
    SELECT * FROM {schema}.runs r
    WHERE r.key = a.run AND ($9::text IS NULL OR r.workflow = $9)
      AND ($5::text[] IS NULL
           OR coalesce(r.status, (SELECT CASE WHEN s.running THEN 'running' ELSE 'pending' END FROM {schema}.queue s WHERE s.run = r.key)) = ANY ($5))
    LIMIT 1) r
  WHERE a.name = $7 AND a.value = $8 AND (a.created_at, a.run) < ($1::timestamptz, $2::bigint) AND (a.created_at, a.run) >= ($3::timestamptz, $4::bigint)
  ORDER BY a.created_at DESC, a.run DESC LIMIT $6) r
{beside}
ORDER BY r.created_at DESC, r.key DESC
