-- Where the task of a step ($3) stands in line: of what, behind how many ($2 are counted), and what the limit says. No row: there is no
-- such run; no key: it stands in none. Indexes runs_id, tasks_run, queue_pkey, tasks_pkey, limit_line_pkey, limit_news_pkey, limits_pkey, limit_keys_pkey, limit_weights_pkey.
SELECT q.key, l.until_end, coalesce(l.number, l.said, 1)::bigint * greatest(least(coalesce(w.weight, 1), 100), 1), coalesce(l.per_ns, 0), coalesce(l.burst, 0), coalesce(k.turn_ns, 0), (SELECT count(*) FROM (
    SELECT a.place, a.run FROM (SELECT a.place, a.run FROM {schema}.limit_line a WHERE a.key = q.key AND (a.urgency, a.place, a.run) < (3 - q.priority, q.place, q.run) LIMIT $2::integer) a
    UNION SELECT n.place, n.run FROM (SELECT n.place, n.run FROM {schema}.limit_news n
      WHERE n.key = q.key AND n.kind = 2 AND (n.urgency, n.place, n.run) < (3 - q.priority, q.place, q.run) LIMIT $2::integer) n) b
  CROSS JOIN LATERAL (SELECT 1 FROM {schema}.limit_need(b.run) o WHERE o.parked_at = b.place AND o.places[o.has + 1] = q.key OFFSET 0) o), greatest(coalesce(k.used, 0), 0)
FROM {schema}.runs r
LEFT JOIN LATERAL (SELECT t.key - 4611686018427387904 AS run, t.priority, t.parked_at AS place, t.places[t.has + 1] AS key FROM {schema}.tasks t WHERE t.run = r.key AND t.step = $3 AND t.parked_at IS NOT NULL OFFSET 0) q ON true
LEFT JOIN {schema}.limits l ON l.name = split_part(q.key, '/', 1) LEFT JOIN {schema}.limit_keys k ON k.key = q.key
LEFT JOIN {schema}.limit_weights w ON w.key = q.key
WHERE r.ns = 0 AND r.id = $1
