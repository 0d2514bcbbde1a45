-- The inbox of runs: deliveries, results of steps and children, and what is known when it comes again.

-- name: deliver
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
    x.print AS first, ((get_byte(f.hash || '\x0000'::bytea, 0) * 256 + get_byte(f.hash || '\x0000'::bytea, 1) + (f.key & 1023)) & 1023)::integer AS bucket, x.late IS NOT NULL AS late, x.run IS NOT NULL AS known
  FROM found f LEFT JOIN {schema}.runs r ON r.key = f.key LEFT JOIN {schema}.queue q ON q.run = f.key
  LEFT JOIN {schema}.delivered x ON x.run = f.key AND x.key = f.hash
  LEFT JOIN {schema}.workers w ON w.key = q.owner LEFT JOIN counted c ON c.key = f.key AND f.payload),
placed AS MATERIALIZED (
  SELECT k.*, k.payload AND (k.closed OR k.n + count(*) FILTER (WHERE k.payload AND NOT k.known) OVER (PARTITION BY k.key ORDER BY k.i) > $5::bigint) AS "full",
    CASE WHEN k.hash = '' OR NOT k.live OR NOT k.open OR k.known OR k.locked IS NOT NULL THEN false
      WHEN $17::smallint = 2 THEN pg_advisory_xact_lock_shared($18::integer, k.bucket) IS NULL
      WHEN $17::smallint = 1 THEN CASE WHEN pg_try_advisory_lock($18::integer, k.bucket) THEN NOT pg_advisory_unlock($18::integer, k.bucket) ELSE true END
      ELSE false END AS held
  FROM known k),
noted AS (
  INSERT INTO {schema}.delivered (run, key, print, sender, marked)
  SELECT p.key, p.hash, p.print, p.sender, nullif(get_byte(p.hash, 0) = 0, false)
  FROM placed p WHERE p.hash <> '' AND p.live AND p.open AND NOT p.known AND NOT p."full" AND p.locked IS NULL AND NOT p.held ORDER BY p.key, p.hash
  ON CONFLICT DO NOTHING RETURNING run, key),
put AS (
  INSERT INTO {schema}.inbox (run, delivery, cancel, act, payload, format, head, body, key, sum)
  SELECT p.key, p.delivery, p.cancel, p.act, p.payload, $8::smallint, replace(p.head, p.placeholder, to_json(coalesce(p.hook, ''))::text), p.body, p.hash,
    concat_ws(chr(31), p.sum, p.key, coalesce(p.hook, ''), p.delivery)
  FROM placed p WHERE p.live AND p.open AND NOT p.known AND NOT p."full" AND p.locked IS NULL
    AND (p.hash = '' OR (p.key, p.hash) IN (SELECT n.run, n.key FROM noted n)) ORDER BY p.i ON CONFLICT DO NOTHING)
SELECT p.i, p.id, p.live, p.open, p.owner, p.known, p."full", p.locked, p.first, p.late,
  p.hash <> '' AND p.live AND p.open AND NOT p.known AND NOT p."full" AND p.locked IS NULL AND (p.key, p.hash) NOT IN (SELECT n.run, n.key FROM noted n)
FROM placed p ORDER BY p.i

-- name: send_holders
-- The oldest transaction that has sent with a delivery ID and is still open. View pg_locks.
SELECT l.pid, coalesce(a.application_name, ''), coalesce(to_char(a.xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'some time ago')
FROM pg_locks l JOIN pg_database d ON d.oid = l.database AND d.datname = current_database() LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.classid = $1::integer::oid AND l.objsubid = 2 AND l.granted AND l.mode = 'ShareLock' ORDER BY a.xact_start LIMIT 1

-- name: notify_mail
-- Tells other processes of mail that was delivered just before ($5, to $4), unless it was not: as work ($2), or to the owner ($3). It may be lost with the
-- server, and so waits for no disk. Indexes runs_id, inbox_run.
SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, CASE WHEN q.owner IS NULL THEN $2::text ELSE $3::text END)
FROM {schema}.runs r JOIN {schema}.queue q ON q.run = r.key
WHERE r.ns = 0 AND r.id = $4 AND EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = r.key AND i.delivery = $5 OFFSET 0)

-- name: find_delivery
-- What is known of a delivery, by its key. Primary key.
SELECT print, late IS NOT NULL FROM {schema}.delivered WHERE run = $1::bigint AND key = $2::bytea

-- name: act_waits
-- Whether an operator's act waits. Index inbox_acts.
SELECT 1 FROM {schema}.inbox WHERE run = $1::bigint AND (cancel OR act IS NOT NULL) AND act IS NOT NULL LIMIT 1

-- name: resume_waits
-- Whether a resumption waits, beside rows that a commit takes. Index inbox_acts.
SELECT 1 FROM {schema}.inbox WHERE run = $1::bigint AND (cancel OR act IS NOT NULL) AND act = 'run_resumed' AND NOT "row" = ANY($2::bigint[]) LIMIT 1

-- name: insert_delivered
-- A delivery is known from now on. Primary key.
INSERT INTO {schema}.delivered (run, key, print, sender, marked) VALUES ($1::bigint, $2::bytea, $3::bytea, $4::text, $5::boolean) ON CONFLICT DO NOTHING

-- name: insert_known
-- What births brought is known when it comes again, with the idempotency keys of starts that were merged. Primary key,
-- index delivered_idem.
INSERT INTO {schema}.delivered (run, key, print, sender, marked, workflow, idem)
SELECT k.run, k.key, k.print, k.sender, k.marked, k.workflow, k.idem
FROM unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::text[], $5::boolean[], $6::text[], $7::text[]) k(run, key, print, sender, marked, workflow, idem)
ON CONFLICT (run, key) DO NOTHING

-- name: insert_sent
-- Mail that commits send, to runs by their ID or by the token of a hook; to what is unknown or over it is dropped. Returns who got it.
-- Indexes runs_id, hooks_token, inbox_run.
WITH sent AS (
  INSERT INTO {schema}.inbox (run, delivery, cancel, act, payload, format, head, body, sum)
  SELECT q.run, a.delivery, a.cancel, a.act, a.payload, $7::smallint, replace(a.head, a.placeholder, to_json(coalesce(h.id, ''))::text), a.body,
    concat_ws(chr(31), a.sum, q.run, coalesce(h.id, ''), a.delivery)
  FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::boolean[], $8::text[], $9::text[], $10::bytea[], $11::text[])
    WITH ORDINALITY a(run, token, delivery, cancel, act, payload, placeholder, head, body, sum, i)
  LEFT JOIN {schema}.hooks h ON h.ns = 0 AND h.token = a.token
  LEFT JOIN {schema}.runs r ON r.ns = 0 AND r.id = a.run
  JOIN {schema}.queue q ON q.run = coalesce(h.run, r.key)
  ORDER BY q.run, a.i
  ON CONFLICT DO NOTHING RETURNING run)
SELECT r.id, q.owner IS NOT NULL FROM sent s JOIN {schema}.runs r ON r.key = s.run JOIN {schema}.queue q ON q.run = s.run

-- name: insert_results
-- Tells each step that waits for runs that are over. What is told was encoded once for each run, with a placeholder where the ID of the step belongs.
-- Returns who was told. Primary keys of awaits and queue.
WITH told AS (
  INSERT INTO {schema}.inbox (run, delivery, cancel, payload, format, head, body, sum)
  SELECT a.waiter, 'result/' || a.step, false, false, $2::smallint, replace(e.head, e.placeholder, to_json(a.step)::text), e.body,
    concat_ws(chr(31), e.sum, a.waiter, a.step, 'result/' || a.step)
  FROM unnest($1::bigint[], $3::text[], $4::text[], $5::bytea[], $6::text[]) e(run, placeholder, head, body, sum)
  JOIN {schema}.awaits a ON a.target = e.run JOIN {schema}.queue q ON q.run = a.waiter
  ORDER BY a.waiter, a.step
  ON CONFLICT DO NOTHING RETURNING run)
SELECT r.id, q.owner IS NOT NULL FROM told t JOIN {schema}.runs r ON r.key = t.run JOIN {schema}.queue q ON q.run = t.run

-- name: ask_children
-- Asks the attached children of a run that are not over to end. Returns who was asked. Index awaits_waiter: coalesce keeps
-- the planner from index runs_parent, which has those that are over too.
WITH asked AS (
  INSERT INTO {schema}.inbox (run, delivery, cancel, payload, format, head, body, sum)
  SELECT DISTINCT ON (a.target) a.target, 'cancel/' || $2::text, true, false, $3::smallint, $4::text, $5::bytea,
    concat_ws(chr(31), $6::text, a.target, '', 'cancel/' || $2::text)
  FROM {schema}.awaits a JOIN {schema}.queue q ON q.run = a.target JOIN {schema}.runs r ON r.key = a.target
  WHERE a.waiter = $1::bigint AND coalesce(r.parent_run, '') = $2::text AND NOT r.detached
  ORDER BY a.target
  ON CONFLICT DO NOTHING RETURNING run)
SELECT r.id, q.owner IS NOT NULL FROM asked s JOIN {schema}.runs r ON r.key = s.run JOIN {schema}.queue q ON q.run = s.run

-- name: mail_waits
-- Which of some runs have mail. Index inbox_run.
SELECT a.run FROM unnest($1::bigint[]) a(run) WHERE EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = a.run)

-- name: runs_mail
-- The mail of some runs of a worker, in order of arrival. Indexes queue_pkey, inbox_run.
SELECT i."row", i.run, r.id, r.created_at, i.delivery, i.arrived_at, i.format, i.head, i.body, i.sum
FROM {schema}.queue q CROSS JOIN LATERAL (SELECT * FROM {schema}.inbox WHERE run = q.run OFFSET 0) i JOIN {schema}.runs r ON r.key = q.run
WHERE q.run = ANY($1::bigint[]) AND q.owner = $2 ORDER BY i."row"

-- name: owned_mail
-- The mail of all runs of a worker, in order of arrival. Indexes queue_owner, inbox_run.
SELECT i."row", i.run, r.id, r.created_at, i.delivery, i.arrived_at, i.format, i.head, i.body, i.sum
FROM {schema}.queue q CROSS JOIN LATERAL (SELECT * FROM {schema}.inbox WHERE run = q.run OFFSET 0) i JOIN {schema}.runs r ON r.key = q.run
WHERE q.owner = $1 ORDER BY i."row"

-- name: delete_mail
-- Mail that is in the log now, or was dropped. By key.
DELETE FROM {schema}.inbox i USING unnest($1::bigint[], $2::bigint[]) a("row", run) WHERE i."row" = a."row" AND i.run = a.run

-- name: delete_run_mail
-- The mail of runs that are over: what was delivered and not read came too late. Index inbox_run, the primary key of
-- delivered.
WITH gone AS (DELETE FROM {schema}.inbox WHERE run = ANY($1::bigint[]) RETURNING run, key, delivery, arrived_at, head)
UPDATE {schema}.delivered d SET late = json_build_object('type', coalesce({schema}.readable(g.head) #>> '{e,0,y}', ''), 'name', coalesce({schema}.readable(g.head) #>> '{e,0,n}', ''),
  'by', coalesce({schema}.readable(g.head) #>> '{e,0,by}', ''), 'reason', coalesce({schema}.readable(g.head) #>> '{e,0,s}', ''), 'delivery', g.delivery, 'arrivedAt', g.arrived_at)
FROM gone g WHERE g.key <> '' AND d.run = g.run AND d.key = g.key

-- name: insert_awaits
-- Steps that wait for the end of runs.
INSERT INTO {schema}.awaits (target, waiter, step) SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[]) ON CONFLICT DO NOTHING

-- name: insert_parents
-- Steps of parents that wait for their children; a parent that is unknown waits for nothing. Index runs_id.
INSERT INTO {schema}.awaits (target, waiter, step)
SELECT a.child, r.key, a.step FROM unnest($1::bigint[], $2::text[], $3::text[]) a(child, parent, step)
JOIN {schema}.runs r ON r.ns = 0 AND r.id = a.parent
ON CONFLICT DO NOTHING

-- name: delete_awaits
-- Runs are over: nobody waits for them any more. By key.
DELETE FROM {schema}.awaits WHERE target = ANY($1::bigint[])

-- name: delete_waiters
-- Runs go on in a new segment, which awaits nothing yet; the children of the ones before are their children still. Indexes awaits_waiter, runs_pkey.
DELETE FROM {schema}.awaits a USING {schema}.runs w
WHERE a.waiter = ANY($1::bigint[]) AND w.key = a.waiter
  AND NOT EXISTS (SELECT 1 FROM {schema}.runs c WHERE c.key = a.target AND coalesce(c.parent_run, '') = w.id)

-- name: list_awaits
-- The steps of a run that wait for the ends of others, and these. Indexes runs_id, awaits_waiter.
SELECT a.step, t.id FROM {schema}.runs r JOIN {schema}.awaits a ON a.waiter = r.key JOIN {schema}.runs t ON t.key = a.target WHERE r.ns = 0 AND r.id = $1::text

-- name: list_late
-- What came to a run too late, in order of arrival; what waits still was accepted while the run ended. Indexes runs_id, delivered_late,
-- inbox_run.
SELECT x.late FROM {schema}.runs r CROSS JOIN LATERAL (
  SELECT d.late, d.at FROM {schema}.delivered d WHERE d.run = r.key AND d.late IS NOT NULL
  UNION ALL SELECT json_build_object('type', coalesce({schema}.readable(i.head) #>> '{e,0,y}', ''), 'name', coalesce({schema}.readable(i.head) #>> '{e,0,n}', ''),
    'by', coalesce({schema}.readable(i.head) #>> '{e,0,by}', ''), 'reason', coalesce({schema}.readable(i.head) #>> '{e,0,s}', ''), 'delivery', i.delivery, 'arrivedAt', i.arrived_at)::text, i.arrived_at
  FROM {schema}.inbox i WHERE i.run = r.key AND i.key <> '') x
WHERE r.ns = 0 AND r.id = $1 AND NOT EXISTS (SELECT FROM {schema}.queue q WHERE q.run = r.key) ORDER BY x.at LIMIT $2
