-- The same of one workflow. Index runs_workflow: the order names the workflow too, as else the planner may take a rare one for all there is, and read
-- runs_created.
SELECT {run}
FROM (
  SELECT * FROM {schema}.runs r
  WHERE (r.workflow, r.created_at, r.key) < ($7, $1::timestamptz, $2::bigint) AND (r.workflow, r.created_at, r.key) >= ($7, $3::timestamptz, $4::bigint)
    AND ($5::text[] IS NULL
         OR coalesce(r.status, (SELECT CASE WHEN s.running THEN 'running' ELSE 'pending' END FROM {schema}.queue s WHERE s.run = r.key)) = ANY ($5))
    AND (NOT $8::boolean OR r.parent_run IS NULL)
    AND ($9::integer = 0 OR $9 = coalesce(
      (SELECT c.version FROM {schema}.queue s, {schema}.classes c WHERE s.run = r.key AND c.key = abs(s.class)), r.version))
  ORDER BY r.workflow DESC, r.created_at DESC, r.key DESC LIMIT $6) r
{beside}
ORDER BY r.workflow DESC, r.created_at DESC, r.key DESC
