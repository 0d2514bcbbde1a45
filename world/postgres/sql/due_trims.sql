-- Runs of which something is not wanted any more, with the commit that it lies before; what another process trims is left to it. By key; index log_run.
SELECT t.run, t.before, r.id, r.created_at, l.seq, l.format, l.head, l.body, l.sum FROM {schema}.trims t
LEFT JOIN {schema}.runs r ON r.key = t.run
LEFT JOIN LATERAL (
  SELECT seq, format, head, body, sum FROM {schema}.log WHERE run = t.run AND seq <= t.before ORDER BY seq DESC LIMIT 1) l ON true
ORDER BY t.run, t.before LIMIT $1 FOR UPDATE OF t SKIP LOCKED
