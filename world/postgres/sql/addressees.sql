-- The addressees of mail, by ID or by token: what must be known of them before it is inserted. Payloads are counted up to the limit, once for each run.
-- Indexes hooks_token, runs_id, inbox_run.
WITH found AS MATERIALIZED (
  SELECT a.i, a.delivery, a.payload, h.id AS hook, coalesce(h.run, (SELECT x.key FROM {schema}.runs x WHERE x.ns = 0 AND x.id = a.run)) AS run
  FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[]) WITH ORDINALITY a(run, token, delivery, payload, i)
  LEFT JOIN {schema}.hooks h ON h.ns = 0 AND h.token = a.token),
counted AS MATERIALIZED (
  SELECT d.run, (SELECT count(*) FROM (SELECT 1 FROM {schema}.inbox i WHERE i.run = d.run AND i.payload LIMIT $5::bigint) x) AS n
  FROM (SELECT DISTINCT f.run FROM found f WHERE f.payload AND f.run IS NOT NULL) d)
SELECT f.i, r.key, r.id, f.hook, q.run IS NOT NULL, w.id, q."full",
  EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = f.run AND i.delivery = f.delivery OFFSET 0)
  OR EXISTS (SELECT 1 FROM {schema}.acts x WHERE x.run = f.run AND x.delivery = f.delivery OFFSET 0),
  c.n
FROM found f LEFT JOIN {schema}.runs r ON r.key = f.run LEFT JOIN {schema}.queue q ON q.run = f.run
LEFT JOIN {schema}.workers w ON w.key = q.owner LEFT JOIN counted c ON c.run = f.run AND f.payload
ORDER BY f.i
