-- The same of those that were made of one, of one workflow or all. Index runs_origin.
SELECT {run}
FROM (
  SELECT * FROM {schema}.runs r
  WHERE (r.origin_run, r.created_at, r.key) < ($7, $1::timestamptz, $2::bigint) AND (r.origin_run, r.created_at, r.key) >= ($7, $3::timestamptz, $4::bigint)
    AND r.origin_run IS NOT NULL AND ($8::text IS NULL OR r.workflow = $8)
    AND ($5::text[] IS NULL
         OR coalesce(r.status, (SELECT CASE WHEN s.running THEN 'running' ELSE 'pending' END FROM {schema}.queue s WHERE s.run = r.key)) = ANY ($5))
  ORDER BY r.origin_run DESC, r.created_at DESC, r.key DESC LIMIT $6) r
{beside}
ORDER BY r.origin_run DESC, r.created_at DESC, r.key DESC
