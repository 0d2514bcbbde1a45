-- The same of one workflow. Index runs_workflow: the order names the workflow too, as else the planner may take a rare one for all there is, and read
-- runs_created.
SELECT r.key, r.id, r.workflow, r.version, r.status, r.idem, r.priority, r.parent_run, r.parent_step, r.detached, r.created_at, r.ended_at,
       r.retention_ns, r.output, r.error, r.attributes, r.takes, l.format, l.head, l.body, l.sum, r.sealed, r.origin_run, r.sum, r.end_sum,
       q.running, q.version, q.take, q.wake_at, q.paused, q.blocked, q."full", q.waiting, q.owner, q.owner_name, q.mail
FROM (
  SELECT * FROM {schema}.runs r
  WHERE (r.workflow, r.created_at, r.key) < ($7, $1::timestamptz, $2::bigint) AND (r.workflow, r.created_at, r.key) >= ($7, $3::timestamptz, $4::bigint)
    AND ($5::text[] IS NULL
         OR coalesce(r.status, (SELECT CASE WHEN s.running THEN 'running' ELSE 'pending' END FROM {schema}.queue s WHERE s.run = r.key)) = ANY ($5))
  ORDER BY r.workflow DESC, r.created_at DESC, r.key DESC LIMIT $6) r
LEFT JOIN LATERAL (SELECT format, head, body, sum FROM {schema}.log WHERE run = r.key AND seq = 1 LIMIT 1) l ON true
LEFT JOIN LATERAL (
  SELECT running, take, wake_at, paused, blocked, "full", waiting,
         (SELECT c.version FROM {schema}.classes c WHERE c.key = class) AS version,
         (SELECT w.id FROM {schema}.workers w WHERE w.key = owner) AS owner,
         (SELECT w.name FROM {schema}.workers w WHERE w.key = owner) AS owner_name,
         (SELECT count(*) FROM {schema}.inbox i WHERE i.run = r.key) AS mail
  FROM {schema}.queue WHERE run = r.key LIMIT 1) q ON true
ORDER BY r.workflow DESC, r.created_at DESC, r.key DESC
