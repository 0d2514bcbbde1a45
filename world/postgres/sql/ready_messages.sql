-- The first messages that can be received, those without a group and those with one, to look at. Indexes messages_ready, messages_heads.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now), q AS MATERIALIZED (SELECT key FROM {schema}.queues WHERE name = $1 AND paused IS NULL)
(SELECT x.key, x.body FROM unnest('{3,2,1,0}'::smallint[]) WITH ORDINALITY p(priority, i)
  CROSS JOIN LATERAL (SELECT m.key, m.body FROM {schema}.messages m WHERE m.queue = (SELECT key FROM q) AND m.priority = p.priority AND m.grp IS NULL
    AND m.visible_at < 'infinity' AND m.visible_at <= (SELECT now FROM clock) ORDER BY m.visible_at, m.key LIMIT $2::bigint) x ORDER BY p.i LIMIT $2::bigint)
UNION ALL
(SELECT m.key, m.body FROM {schema}.messages m WHERE m.queue = (SELECT key FROM q) AND m.grp IS NOT NULL
  AND m.visible_at < 'infinity' AND m.visible_at <= (SELECT now FROM clock) ORDER BY m.visible_at, m.key LIMIT $2::bigint)
