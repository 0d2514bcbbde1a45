-- The messages of a queue by state, each up to $2: ready and since when, delayed, out, parked, dead.
-- Indexes messages_ready, messages_heads, messages_parked.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT
  (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND grp IS NULL AND visible_at < 'infinity' AND visible_at <= (SELECT now FROM clock) LIMIT $2) x)
  + (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND grp IS NOT NULL AND visible_at < 'infinity' AND visible_at <= (SELECT now FROM clock) LIMIT $2) x),
  (SELECT min(visible_at) FROM {schema}.messages WHERE queue = $1 AND visible_at < 'infinity' AND visible_at <= (SELECT now FROM clock)),
  (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND visible_at < 'infinity' AND visible_at > (SELECT now FROM clock) AND NOT held LIMIT $2) x),
  (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND visible_at < 'infinity' AND visible_at > (SELECT now FROM clock) AND held LIMIT $2) x),
  (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND visible_at = 'infinity' AND NOT dead LIMIT $2) x),
  (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND visible_at = 'infinity' AND dead LIMIT $2) x)
