-- Lists of runs.

-- name: show_run
-- One run, with the row of its birth and its place in the queue. Indexes runs_id, log_run, queue_pkey, inbox_run.
SELECT {run}
FROM {schema}.runs r
{beside}
WHERE r.ns = 0 AND r.id = $1

-- name: list_runs
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

-- name: list_workflow_runs
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

-- name: edge_of_runs
-- The run that stands $5 runs before the run ($1, $2), and not before ($3, $4): a page looks no further. Index runs_created.
SELECT created_at, key FROM {schema}.runs
WHERE (created_at, key) < ($1::timestamptz, $2::bigint) AND (created_at, key) >= ($3::timestamptz, $4::bigint)
ORDER BY created_at DESC, key DESC OFFSET $5::bigint - 1 LIMIT 1

-- name: edge_of_workflow_runs
-- The same of one workflow. Index runs_workflow, as list_workflow_runs.
SELECT created_at, key FROM {schema}.runs
WHERE (workflow, created_at, key) < ($6, $1::timestamptz, $2::bigint) AND (workflow, created_at, key) >= ($6, $3::timestamptz, $4::bigint)
ORDER BY workflow DESC, created_at DESC, key DESC OFFSET $5::bigint - 1 LIMIT 1

-- name: list_live_runs
-- The same of those that are not over, of one workflow ($7) or all. Index runs_live.
SELECT {run}
FROM (
  SELECT * FROM {schema}.runs r
  WHERE r.status IS NULL AND (r.created_at, r.key) < ($1::timestamptz, $2::bigint) AND (r.created_at, r.key) >= ($3::timestamptz, $4::bigint)
    AND (SELECT CASE WHEN s.running THEN 'running' ELSE 'pending' END FROM {schema}.queue s WHERE s.run = r.key) = ANY ($5::text[]) AND ($7::text IS NULL OR r.workflow = $7)
    AND (NOT $8::boolean OR r.parent_run IS NULL)
    AND ($9::integer = 0 OR $9 = coalesce(
      (SELECT c.version FROM {schema}.queue s, {schema}.classes c WHERE s.run = r.key AND c.key = abs(s.class)), r.version))
  ORDER BY r.created_at DESC, r.key DESC LIMIT $6) r
{beside}
ORDER BY r.created_at DESC, r.key DESC

-- name: edge_of_live_runs
-- The same of those that are not over. Index runs_live.
SELECT created_at, key FROM {schema}.runs
WHERE status IS NULL AND (created_at, key) < ($1::timestamptz, $2::bigint) AND (created_at, key) >= ($3::timestamptz, $4::bigint)
ORDER BY created_at DESC, key DESC OFFSET $5::bigint - 1 LIMIT 1

-- name: list_failed_runs
-- The same of those that are over and did not complete, of one workflow ($7) or all. Index runs_failed.
SELECT {run}
FROM (
  SELECT * FROM {schema}.runs r
  WHERE r.status IN ('failed', 'cancelled') AND (r.created_at, r.key) < ($1::timestamptz, $2::bigint) AND (r.created_at, r.key) >= ($3::timestamptz, $4::bigint)
    AND r.status = ANY ($5::text[]) AND ($7::text IS NULL OR r.workflow = $7)
    AND (NOT $8::boolean OR r.parent_run IS NULL)
    AND ($9::integer = 0 OR $9 = r.version)
  ORDER BY r.created_at DESC, r.key DESC LIMIT $6) r
{beside}
ORDER BY r.created_at DESC, r.key DESC

-- name: edge_of_failed_runs
-- The same of those that are over and did not complete. Index runs_failed.
SELECT created_at, key FROM {schema}.runs
WHERE status IN ('failed', 'cancelled') AND (created_at, key) < ($1::timestamptz, $2::bigint) AND (created_at, key) >= ($3::timestamptz, $4::bigint)
ORDER BY created_at DESC, key DESC OFFSET $5::bigint - 1 LIMIT 1

-- name: fewer_stand
-- Whether no more runs have some statuses ($2) than there are of a workflow ($1). All of totals, which are few.
SELECT coalesce(sum(n) FILTER (WHERE status = ANY ($2::text[])), 0) <= coalesce(sum(n) FILTER (WHERE workflow = $1::text AND status NOT IN ('paused', 'blocked')), 0)
FROM {schema}.totals

-- name: list_attribute_runs
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

-- name: edge_of_attribute_runs
-- The same of those with an attribute. Index attributes_pkey.
SELECT created_at, run FROM {schema}.attributes
WHERE name = $6 AND value = $7 AND (created_at, run) < ($1::timestamptz, $2::bigint) AND (created_at, run) >= ($3::timestamptz, $4::bigint)
ORDER BY created_at DESC, run DESC OFFSET $5::bigint - 1 LIMIT 1

-- name: few_attribute_runs
-- How many runs created before the run ($1, $2), and from the run ($3, $4) on, have an attribute, counted up to $5, and when the oldest of those was
-- created. Index attributes_pkey.
SELECT count(*), min(created_at) FROM (
  SELECT created_at FROM {schema}.attributes
  WHERE name = $6 AND value = $7 AND (created_at, run) < ($1::timestamptz, $2::bigint) AND (created_at, run) >= ($3::timestamptz, $4::bigint)
  ORDER BY created_at DESC, run DESC LIMIT $5) a

-- name: few_workflow_runs
-- How many runs of a workflow were created before the run ($1, $2), and from the run ($3, $4) on, counted up to $5. Index runs_workflow, as
-- list_workflow_runs.
SELECT count(*) FROM (
  SELECT FROM {schema}.runs
  WHERE (workflow, created_at, key) < ($6, $1::timestamptz, $2::bigint) AND (workflow, created_at, key) >= ($6, $3::timestamptz, $4::bigint)
  ORDER BY workflow DESC, created_at DESC, key DESC LIMIT $5) r

-- name: key_runs
-- The runs with an idempotency key, one of each workflow, or of one workflow ($2); and (true) those that were given the input of the start with it. Indexes
-- runs_idem, delivered_idem; by way of the workflows that there are.
WITH names AS MATERIALIZED (SELECT DISTINCT workflow FROM {schema}.classes WHERE $2::text IS NULL OR workflow = $2)
SELECT r.key, false FROM names n
CROSS JOIN LATERAL (SELECT key FROM {schema}.runs WHERE ns = 0 AND workflow = n.workflow AND idem = $1::text LIMIT 1) r
UNION ALL
SELECT d.run, true FROM names n
CROSS JOIN LATERAL (SELECT run FROM {schema}.delivered WHERE workflow = n.workflow AND idem = $1::text AND idem IS NOT NULL LIMIT 1) d

-- name: prefix_runs
-- Some runs whose IDs are between two texts. Index runs_id.
SELECT key FROM {schema}.runs WHERE ns = 0 AND id ~>=~ $1::text AND id ~<~ $2::text LIMIT $3

-- name: stopped_runs
-- Some runs that are blocked or paused. Index queue_stopped.
SELECT run FROM {schema}.queue WHERE (blocked IS NOT NULL OR paused) ORDER BY run LIMIT $1

-- name: list_picked_runs
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

-- name: list_child_runs
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

-- name: edge_of_child_runs
-- The same of the children of one. Index runs_parent.
SELECT created_at, key FROM {schema}.runs
WHERE (parent_run, created_at, key) < ($6, $1::timestamptz, $2::bigint) AND (parent_run, created_at, key) >= ($6, $3::timestamptz, $4::bigint)
  AND parent_run IS NOT NULL
ORDER BY parent_run DESC, created_at DESC, key DESC OFFSET $5::bigint - 1 LIMIT 1

-- name: list_made_runs
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

-- name: edge_of_made_runs
-- The same of those that were made of one. Index runs_origin.
SELECT created_at, key FROM {schema}.runs
WHERE (origin_run, created_at, key) < ($6, $1::timestamptz, $2::bigint) AND (origin_run, created_at, key) >= ($6, $3::timestamptz, $4::bigint)
  AND origin_run IS NOT NULL
ORDER BY origin_run DESC, created_at DESC, key DESC OFFSET $5::bigint - 1 LIMIT 1
