-- Runs that have been due for a minute and that nobody claimed, by workflow and version: how many, since when, and whether a worker has registered
-- them. At most 10,000 of each. Index queue_ready.
SELECT c.workflow, c.version, d.n, d.since, EXISTS (
         SELECT FROM {schema}.workers w WHERE {alive}
         AND {schema}.readable(w.classes)::jsonb @> jsonb_build_array(jsonb_build_object('workflow', c.workflow, 'version', c.version)))
FROM {schema}.classes c CROSS JOIN LATERAL (
  SELECT count(*) AS n, min(ready_at) AS since FROM (
    SELECT q.ready_at FROM {schema}.queue q
    WHERE q.class = c.key AND q.priority = ANY ('{0,1,2,3}') AND q.ready_at < clock_timestamp() - interval '1 minute' LIMIT 10000) r) d
WHERE d.n > 0 ORDER BY d.since
