-- Runs created before the run ($1, $2), and from the run ($3, $4) on, newest first, of a status ($5) if one is given. Index runs_created.
SELECT {run}
FROM (
  SELECT * FROM {schema}.runs r
  WHERE (r.created_at, r.key) < ($1::timestamptz, $2::bigint) AND (r.created_at, r.key) >= ($3::timestamptz, $4::bigint)
    AND ($5::text[] IS NULL
         OR coalesce(r.status, (SELECT CASE WHEN s.running THEN 'running' ELSE 'pending' END FROM {schema}.queue s WHERE s.run = r.key)) = ANY ($5))
    AND (NOT $7::boolean OR r.parent_run IS NULL)
    AND ($8::integer = 0 OR $8 = coalesce(
      (SELECT c.version FROM {schema}.queue s, {schema}.classes c WHERE s.run = r.key AND c.key = abs(s.class)), r.version))
  ORDER BY r.created_at DESC, r.key DESC LIMIT $6) r
{beside}
ORDER BY r.created_at DESC, r.key DESC
