-- Mail to runs by their ID or by the token of a hook, in order of arrival. What cannot arrive, is known already
-- under its key, or finds an inbox with
-- too many payloads ($5) is left out, and so is what may only be a repeat and is none ($19), and what is plain though the run is encrypted. Tells for each what is known of the addressee, and whether it was inserted. Payloads are counted up to the limit,
-- once for each run; no two deliveries of one call have the same delivery ID.
-- What has an ID has an advisory lock of class $18, one of 1024. A transaction that its application may keep open ($17 = 2) shares it until its end. Others ($17 = 1)
-- look whether somebody does, and leave the delivery out: they hold it for no longer than that. It saves waiting, and no more: where it does not tell, the
-- primary key of delivered does ($17 = 0: that alone).
-- Indexes hooks_token, ended_hooks_token, runs_id, inbox_run, the primary key of delivered.
WITH found AS MATERIALIZED (
  SELECT a.*, coalesce(h.id, e.id) AS hook, a.token IS NULL OR h.id IS NOT NULL AS open,
    coalesce(h.run, e.run, (SELECT x.key FROM {schema}.runs x WHERE x.ns = 0 AND x.id = a.run)) AS key,
    coalesce(a.given, ''::bytea) AS hash
  FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $6::boolean[], $7::text[], $9::text[], $10::text[], $11::bytea[],
    $12::boolean[], $13::bytea[], $14::bytea[], $15::text[], $16::text[], $19::boolean[])
    WITH ORDINALITY a(run, token, delivery, payload, cancel, act, placeholder, head, body, plain, given, print, sender, sum, again, i)
  LEFT JOIN {schema}.hooks h ON h.ns = 0 AND h.token = a.token
  LEFT JOIN LATERAL (SELECT z.run, z.id FROM {schema}.ended_hooks z WHERE z.ns = 0 AND z.token = a.token ORDER BY z.key DESC LIMIT 1) e ON h.id IS NULL),
counted AS MATERIALIZED (
  SELECT d.key, (SELECT count(*) FROM (SELECT 1 FROM {schema}.inbox i WHERE i.run = d.key AND i.payload LIMIT $5::bigint) x) AS n
  FROM (SELECT DISTINCT f.key FROM found f WHERE f.payload AND f.key IS NOT NULL) d),
known AS MATERIALIZED (
  SELECT f.*, r.id AS id, CASE WHEN f.plain THEN r.sealed END AS locked, q.run IS NOT NULL AND NOT f.again AS live, w.id AS owner, f.payload AND q."full" AS closed, c.n,
    x.print AS first, ((get_byte(f.hash || '\x0000'::bytea, 0) * 256 + get_byte(f.hash || '\x0000'::bytea, 1) + (f.key & 1023)) & 1023)::integer AS bucket, x.late IS NOT NULL AS late, x.run IS NOT NULL
    OR EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = f.key AND i.delivery = f.delivery AND i.key = '' OFFSET 0) AS waits
  FROM found f LEFT JOIN {schema}.runs r ON r.key = f.key LEFT JOIN {schema}.queue q ON q.run = f.key
  LEFT JOIN {schema}.delivered x ON x.run = f.key AND x.key = f.hash
  LEFT JOIN {schema}.workers w ON w.key = q.owner LEFT JOIN counted c ON c.key = f.key AND f.payload),
placed AS MATERIALIZED (
  SELECT k.*, k.payload AND (k.closed OR k.n + count(*) FILTER (WHERE k.payload AND NOT k.waits) OVER (PARTITION BY k.key ORDER BY k.i) > $5::bigint) AS "full",
    CASE WHEN k.hash = '' OR NOT k.live OR NOT k.open OR k.waits OR k.locked IS NOT NULL THEN false
      WHEN $17::smallint = 2 THEN pg_advisory_xact_lock_shared($18::integer, k.bucket) IS NULL
      WHEN $17::smallint = 1 THEN CASE WHEN pg_try_advisory_lock($18::integer, k.bucket) THEN NOT pg_advisory_unlock($18::integer, k.bucket) ELSE true END
      ELSE false END AS held
  FROM known k),
noted AS (
  INSERT INTO {schema}.delivered (run, key, print, sender, marked)
  SELECT p.key, p.hash, p.print, p.sender, nullif(get_byte(p.hash, 0) = 0, false)
  FROM placed p WHERE p.hash <> '' AND p.live AND p.open AND NOT p.waits AND NOT p."full" AND p.locked IS NULL AND NOT p.held ORDER BY p.key, p.hash
  ON CONFLICT DO NOTHING RETURNING run, key),
put AS (
  INSERT INTO {schema}.inbox (run, delivery, cancel, act, payload, format, head, body, key, sum)
  SELECT p.key, p.delivery, p.cancel, p.act, p.payload, $8::smallint, replace(p.head, p.placeholder, to_json(coalesce(p.hook, ''))::text), p.body, p.hash,
    concat_ws(chr(31), p.sum, p.key, coalesce(p.hook, ''), p.delivery)
  FROM placed p WHERE p.live AND p.open AND NOT p.waits AND NOT p."full" AND p.locked IS NULL
    AND (p.hash = '' OR (p.key, p.hash) IN (SELECT n.run, n.key FROM noted n)) ORDER BY p.i ON CONFLICT DO NOTHING)
SELECT p.i, p.id, p.live, p.open, p.owner, p.waits, p."full", p.locked, p.first, p.late,
  p.hash <> '' AND p.live AND p.open AND NOT p.waits AND NOT p."full" AND p.locked IS NULL AND (p.key, p.hash) NOT IN (SELECT n.run, n.key FROM noted n)
FROM placed p ORDER BY p.i
