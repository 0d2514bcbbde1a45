-- The log of a run from the commit that holds the event after $2 on: the commits that begin with one of the next $3 events, or, where those were trimmed, of
-- as many from the next that is there on; and whether there are others behind them. A row without a commit where there is none. Indexes runs_id, log_run.
SELECT r.created_at, r.trim, EXISTS (SELECT FROM {schema}.log m WHERE m.run = r.key AND m.seq > w.last),
       l.seq, l.n, l.format, l.head, l.body, l.sum
FROM {schema}.runs r CROSS JOIN LATERAL (
  SELECT $3::bigint + CASE WHEN r.trim <= $2::bigint THEN $2::bigint ELSE greatest($2::bigint, (
    SELECT g.seq - 1 FROM {schema}.log g WHERE g.run = r.key AND g.seq > $2::bigint ORDER BY g.seq LIMIT 1)) END AS last OFFSET 0) w
LEFT JOIN LATERAL (
  SELECT seq, n::bigint, format, head, body, sum FROM {schema}.log
  WHERE run = r.key AND seq <= w.last
    AND seq >= coalesce((SELECT f.seq FROM {schema}.log f WHERE f.run = r.key AND f.seq <= $2::bigint + 1 ORDER BY f.seq DESC LIMIT 1), 0)
  ORDER BY seq LIMIT $3::bigint + 1) l ON true
WHERE r.ns = 0 AND r.id = $1
