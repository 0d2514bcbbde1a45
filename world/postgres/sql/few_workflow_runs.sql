-- How many runs of a workflow were created before the run ($1, $2), and from the run ($3, $4) on, counted up to $5. Index runs_workflow, as
-- list_workflow_runs.
SELECT count(*) FROM (
  SELECT FROM {schema}.runs
  WHERE (workflow, created_at, key) < ($6, $1::timestamptz, $2::bigint) AND (workflow, created_at, key) >= ($6, $3::timestamptz, $4::bigint)
  ORDER BY workflow DESC, created_at DESC, key DESC LIMIT $5) r
