-- The same of those with an attribute ($7, $8), of one workflow ($9) or all. Indexes attributes_pkey, runs_pkey: one run after the other.
SELECT r.key, r.id, r.workflow, r.version, r.status, r.idem, r.priority, r.parent_run, r.parent_step, r.detached, r.created_at, r.ended_at,
       r.retention_ns, r.output, r.error, r.attributes, r.takes, l.format, l.head, l.body, l.sum, r.sealed, r.origin_run, r.sum, r.end_sum,
       q.running, q.version, q.take, q.wake_at, q.paused, q.blocked, q."full", q.waiting, q.owner, q.owner_name, q.mail
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
LEFT JOIN LATERAL (SELECT format, head, body, sum FROM {schema}.log WHERE run = r.key AND seq = 1 LIMIT 1) l ON true
LEFT JOIN LATERAL (
  SELECT running, take, wake_at, paused, blocked, "full", waiting,
         (SELECT c.version FROM {schema}.classes c WHERE c.key = class) AS version,
         (SELECT w.id FROM {schema}.workers w WHERE w.key = owner) AS owner,
         (SELECT w.name FROM {schema}.workers w WHERE w.key = owner) AS owner_name,
         (SELECT count(*) FROM {schema}.inbox i WHERE i.run = r.key) AS mail
  FROM {schema}.queue WHERE run = r.key LIMIT 1) q ON true
ORDER BY r.created_at DESC, r.key DESC
