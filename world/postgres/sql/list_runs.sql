-- Runs below the key $1 and from $2 on, newest first, of a status ($3) and born from $4 on and before $5, as far as these are given. By key.
SELECT r.key, r.id, r.workflow, r.version, r.status, r.idem, r.priority, r.parent_run, r.parent_step, r.detached, r.created_at, r.ended_at,
       r.retention_ns, r.output, r.error, r.attributes, r.takes, l.format, l.head, l.body,
       q.running, q.version, q.take, q.wake_at, q.paused, q.blocked, q."full", q.waiting, q.owner, q.owner_name, q.mail
FROM (
  SELECT * FROM {schema}.runs r
  WHERE r.key < $1 AND r.key >= $2
    AND ($3::text[] IS NULL
         OR coalesce(r.status, (SELECT CASE WHEN s.running THEN 'running' ELSE 'pending' END FROM {schema}.queue s WHERE s.run = r.key)) = ANY ($3))
    AND ($4::timestamptz IS NULL OR r.created_at >= $4) AND ($5::timestamptz IS NULL OR r.created_at < $5)
  ORDER BY r.key DESC LIMIT $6) r
LEFT JOIN LATERAL (SELECT format, head, body FROM {schema}.log WHERE run = r.key AND seq = 1 LIMIT 1) l ON true
LEFT JOIN LATERAL (
  SELECT running, take, wake_at, paused, blocked, "full", waiting,
         (SELECT c.version FROM {schema}.classes c WHERE c.key = class) AS version,
         (SELECT w.id FROM {schema}.workers w WHERE w.key = owner) AS owner,
         (SELECT w.name FROM {schema}.workers w WHERE w.key = owner) AS owner_name,
         (SELECT count(*) FROM {schema}.inbox i WHERE i.run = r.key) AS mail
  FROM {schema}.queue WHERE run = r.key LIMIT 1) q ON true
ORDER BY r.key DESC
