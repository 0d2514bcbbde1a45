-- Queues that share a limit with other queues, with steps or with runs, and whether nobody receives from each: nothing of it is out, and a message
-- that has places could have been received for a time ($1, in µs). Of each priority it looks at 1,000. Indexes messages_ready and messages_heads.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
l AS MATERIALIZED (
  SELECT q.key, x.v ->> 'name' AS name FROM {schema}.queues q
  CROSS JOIN LATERAL (SELECT {schema}.readable(q.limits) AS said OFFSET 0) t
  CROSS JOIN LATERAL json_array_elements(CASE WHEN json_typeof(t.said) = 'array' THEN t.said ELSE '[]' END) x(v) WHERE q.limits IS NOT NULL),
s AS MATERIALIZED (
  SELECT DISTINCT a.key FROM l a WHERE EXISTS (SELECT FROM l b WHERE b.name = a.name AND b.key <> a.key)
    OR EXISTS (SELECT FROM {schema}.limits t WHERE t.name = a.name AND (t.runs OR t.steps)))
SELECT s.key, (EXISTS (SELECT FROM unnest('{0,1,2,3}'::smallint[]) p(priority) CROSS JOIN LATERAL (
    SELECT m.has FROM {schema}.messages m WHERE m.queue = s.key AND m.priority = p.priority AND m.grp IS NULL AND m.visible_at < 'infinity'
      AND m.visible_at <= (SELECT now FROM clock) - $1::bigint * interval '1 microsecond' ORDER BY m.visible_at DESC LIMIT 1000) x WHERE x.has > 0)
  OR EXISTS (SELECT FROM (
    SELECT m.has FROM {schema}.messages m WHERE m.queue = s.key AND m.grp IS NOT NULL AND m.visible_at < 'infinity'
      AND m.visible_at <= (SELECT now FROM clock) - $1::bigint * interval '1 microsecond' ORDER BY m.visible_at DESC LIMIT 1000) x WHERE x.has > 0))
  AND NOT EXISTS (SELECT FROM unnest('{0,1,2,3}'::smallint[]) p(priority) CROSS JOIN LATERAL (
    SELECT m.held FROM {schema}.messages m WHERE m.queue = s.key AND m.priority = p.priority AND m.grp IS NULL AND m.visible_at < 'infinity'
      AND m.visible_at > (SELECT now FROM clock) ORDER BY m.visible_at LIMIT 1000) x WHERE x.held)
  AND NOT EXISTS (SELECT FROM (
    SELECT m.held FROM {schema}.messages m WHERE m.queue = s.key AND m.grp IS NOT NULL AND m.visible_at < 'infinity'
      AND m.visible_at > (SELECT now FROM clock) ORDER BY m.visible_at LIMIT 1000) x WHERE x.held)
FROM s ORDER BY s.key
