-- The same of the children of one, of one workflow or all. Index runs_parent.
SELECT {run}
FROM (
  SELECT * FROM {schema}.runs r
  WHERE (r.parent_run, r.created_at, r.key) < ($7, $1::timestamptz, $2::bigint) AND (r.parent_run, r.created_at, r.key) >= ($7, $3::timestamptz, $4::bigint)
    AND r.parent_run IS NOT NULL AND ($8::text IS NULL OR r.workflow = $8)
    AND ($5::text[] IS NULL
         OR coalesce(r.status, (SELECT CASE WHEN s.running THEN 'running' ELSE 'pending' END FROM {schema}.queue s WHERE s.run = r.key)) = ANY ($5))
  ORDER BY r.parent_run DESC, r.created_at DESC, r.key DESC LIMIT $6) r
{beside}
ORDER BY r.parent_run DESC, r.created_at DESC, r.key DESC
