-- What took the places of some runs ($1) that did not complete, and what took theirs in turn, each once. Indexes runs_id, runs_idem, queue_pkey.
WITH RECURSIVE heirs (of, workflow, id, status, key) AS (
  SELECT NULL::text, r.workflow, r.id, r.status, r.key FROM unnest($1::text[]) i (id)
  CROSS JOIN LATERAL (SELECT workflow, id, status, key FROM {schema}.runs WHERE ns = 0 AND id = i.id LIMIT 1) r
  UNION
  SELECT h.id, r.workflow, r.id, r.status, r.key FROM heirs h
  CROSS JOIN LATERAL (SELECT workflow, id, status, key FROM {schema}.runs WHERE ns = 0 AND workflow = h.workflow AND idem = 'retry:' || h.id LIMIT 1) r
  WHERE h.status IN ('failed', 'cancelled')
)
SELECT h.of, h.id, coalesce(h.status, (SELECT CASE WHEN q.running THEN 'running' ELSE 'pending' END FROM {schema}.queue q WHERE q.run = h.key))
FROM heirs h WHERE h.of IS NOT NULL
