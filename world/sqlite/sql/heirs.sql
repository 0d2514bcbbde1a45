-- What took the places of some runs that did not complete, and what took theirs in turn, each once. Indexes runs_id, runs_idem.
WITH RECURSIVE heirs (of, workflow, id, status, key) AS (
  SELECT NULL, r.workflow, r.id, r.status, r.key FROM json_each(?1) j CROSS JOIN runs r ON r.ns = 0 AND r.id = j.value
  UNION
  SELECT p.id, r.workflow, r.id, r.status, r.key
  FROM heirs p CROSS JOIN runs r ON r.ns = 0 AND r.workflow = p.workflow AND r.idem = 'retry:' || p.id AND r.idem IS NOT NULL
  WHERE p.status IN ('failed', 'cancelled')
)
SELECT p.of, p.id, coalesce(p.status, (SELECT CASE WHEN q.running THEN 'running' ELSE 'pending' END FROM queue q WHERE q.run = p.key))
FROM heirs p WHERE p.of IS NOT NULL
