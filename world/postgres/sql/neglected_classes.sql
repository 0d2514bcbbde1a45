-- The classes of runs that nobody owns, and that no live worker has, where there are limits. One that holds nothing need not renew its lease for a time
-- ($1, in µs). Indexes queue_ready, queue_placed.
WITH had AS MATERIALIZED (
  SELECT {schema}.readable(w.classes)::jsonb AS classes FROM {schema}.workers w
  WHERE w.ended IS NULL AND least(w.until, '9999-12-31T00:00:00Z') + $1::bigint * interval '1 microsecond' > clock_timestamp())
SELECT c.key FROM {schema}.classes c WHERE EXISTS (SELECT FROM {schema}.limits OFFSET 0)
  AND (EXISTS (SELECT FROM {schema}.queue q WHERE q.class = c.key AND q.ready_at IS NOT NULL OFFSET 0)
    OR EXISTS (SELECT FROM {schema}.queue q WHERE q.class = c.key AND q.owner IS NULL AND q.has + (q.parked_at IS NOT NULL)::integer > 0 OFFSET 0))
  AND NOT EXISTS (SELECT FROM had h WHERE h.classes @> jsonb_build_array(jsonb_build_object('workflow', c.workflow, 'version', c.version)))
ORDER BY c.key
