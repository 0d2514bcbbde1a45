-- The log of a run from the commit that holds the event after $2 on: the commits that begin with one of the next $3 events, and whether there are
-- others behind them. A row without a commit where there is none. Indexes runs_id, log_run.
SELECT r.created_at, EXISTS (SELECT FROM {schema}.log m WHERE m.run = r.key AND m.seq > $2::bigint + $3::bigint),
       l.seq, l.n, l.format, l.head, l.body
FROM {schema}.runs r LEFT JOIN LATERAL (
  SELECT seq, n::bigint, format, head, body FROM {schema}.log
  WHERE run = r.key AND seq <= $2::bigint + $3::bigint
    AND seq >= coalesce((SELECT f.seq FROM {schema}.log f WHERE f.run = r.key AND f.seq <= $2::bigint + 1 ORDER BY f.seq DESC LIMIT 1), 0)
  ORDER BY seq LIMIT $3::bigint + 1) l ON true
WHERE r.ns = 0 AND r.id = $1
