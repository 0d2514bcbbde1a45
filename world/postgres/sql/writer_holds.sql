-- Whether a worker owns a run under a claim, or, where a step is named, holds its task as an attempt. Indexes runs_id, workers_id_key, queue_pkey,
-- tasks_run.
SELECT 1 FROM {schema}.runs r JOIN {schema}.workers w ON w.id = $2::text
WHERE r.ns = 0 AND r.id = $1::text AND CASE WHEN $4::text = ''
  THEN EXISTS (SELECT 1 FROM {schema}.queue q WHERE q.run = r.key AND q.owner = w.key AND q.take = $3::bigint)
  ELSE EXISTS (SELECT 1 FROM {schema}.tasks t WHERE t.run = r.key AND t.step = $4::text AND t.worker = w.key AND t.attempt = $3::bigint) END
