-- Mail to runs by their ID or by the token of a hook, in order of arrival. What cannot arrive, waits already under its delivery ID, or finds an inbox with
-- too many payloads ($5) is left out, and so is what is plain though the run is encrypted. Tells for each what is known of the addressee, and whether it was inserted. Payloads are counted up to the limit,
-- once for each run; no two deliveries of one call have the same delivery ID. Indexes hooks_token, runs_id, inbox_run.
WITH found AS MATERIALIZED (
  SELECT a.*, h.id AS hook, coalesce(h.run, (SELECT x.key FROM {schema}.runs x WHERE x.ns = 0 AND x.id = a.run)) AS key
  FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $6::boolean[], $7::text[], $9::text[], $10::text[], $11::bytea[],
    $12::boolean[]) WITH ORDINALITY a(run, token, delivery, payload, cancel, act, placeholder, head, body, plain, i)
  LEFT JOIN {schema}.hooks h ON h.ns = 0 AND h.token = a.token),
counted AS MATERIALIZED (
  SELECT d.key, (SELECT count(*) FROM (SELECT 1 FROM {schema}.inbox i WHERE i.run = d.key AND i.payload LIMIT $5::bigint) x) AS n
  FROM (SELECT DISTINCT f.key FROM found f WHERE f.payload AND f.key IS NOT NULL) d),
known AS MATERIALIZED (
  SELECT f.*, r.id AS id, CASE WHEN f.plain THEN r.sealed END AS locked, q.run IS NOT NULL AS live, w.id AS owner, f.payload AND q."full" AS closed, c.n,
    EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = f.key AND i.delivery = f.delivery OFFSET 0)
    OR EXISTS (SELECT 1 FROM {schema}.acts x WHERE x.run = f.key AND x.delivery = f.delivery OFFSET 0) AS waits
  FROM found f LEFT JOIN {schema}.runs r ON r.key = f.key LEFT JOIN {schema}.queue q ON q.run = f.key
  LEFT JOIN {schema}.workers w ON w.key = q.owner LEFT JOIN counted c ON c.key = f.key AND f.payload),
placed AS MATERIALIZED (
  SELECT k.*, k.payload AND (k.closed OR k.n + count(*) FILTER (WHERE k.payload AND NOT k.waits) OVER (PARTITION BY k.key ORDER BY k.i) > $5::bigint) AS "full"
  FROM known k),
put AS (
  INSERT INTO {schema}.inbox (run, delivery, cancel, act, payload, format, head, body)
  SELECT p.key, p.delivery, p.cancel, p.act, p.payload, $8::smallint, replace(p.head, p.placeholder, to_json(coalesce(p.hook, ''))::text), p.body
  FROM placed p WHERE p.live AND NOT p.waits AND NOT p."full" AND p.locked IS NULL ORDER BY p.i
  ON CONFLICT DO NOTHING RETURNING run, delivery)
SELECT p.i, p.id, p.live, p.owner, p.waits OR p.delivery IS NOT NULL AND NOT p."full" AND p.locked IS NULL AND (p.key, p.delivery) NOT IN (SELECT x.run, x.delivery FROM put x WHERE x.delivery IS NOT NULL),
  p."full", p.n, p.locked
FROM placed p ORDER BY p.i
