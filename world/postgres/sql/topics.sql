-- Topics: publications, subscriptions, and runs that listen.

-- name: publish
-- Publishes, in order. Each tells its key and when it was.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
p AS (
  INSERT INTO {schema}.publications (topic, source, at, due_at, head, body, sum)
  SELECT u.topic, u.source, c.now, c.now + u.delay * interval '1 microsecond', u.head, u.body, u.sum
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::bytea[], $6::integer[]) WITH ORDINALITY u(topic, source, delay, head, body, sum, i), clock c
  ORDER BY u.i
  RETURNING key, at, due_at),
d AS (INSERT INTO {schema}.due (publication, due_at) SELECT p.key, CASE WHEN p.due_at > p.at THEN p.due_at ELSE '-infinity' END FROM p)
SELECT key, at FROM p ORDER BY key

-- name: publish_once
-- Publishes one with a delivery ID. No row: its topic has had the ID; the next statement reads of what. It may wait for another transaction that publishes with the same.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
p AS (
  INSERT INTO {schema}.publications (topic, source, dedupe, at, due_at, head, body, sum)
  SELECT $1, $2, $3, c.now, c.now + $4::bigint * interval '1 microsecond', $5, $6, $7 FROM clock c
  ON CONFLICT (topic, dedupe) WHERE dedupe IS NOT NULL DO NOTHING
  RETURNING key, at, due_at),
d AS (INSERT INTO {schema}.due (publication, due_at) SELECT p.key, CASE WHEN p.due_at > p.at THEN p.due_at ELSE '-infinity' END FROM p)
SELECT key, at FROM p

-- name: find_publication
-- What was published under a topic with a delivery ID. Index publications_dedupe.
SELECT key, at FROM {schema}.publications WHERE topic = $1 AND dedupe = $2

-- name: due_publications
-- What is to be spread, in order, behind a place, up to $1 and about $2 bytes of payloads, each with its place. Index due_due, which wants to be told of
-- infinity, and a clock that stands still.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
d AS MATERIALIZED (
  SELECT d.publication, d.due_at FROM {schema}.due d WHERE d.due_at < 'infinity' AND d.due_at <= (SELECT now FROM clock)
    AND (d.due_at, d.publication + 0) > ($3::text::timestamptz, $4::bigint)
  ORDER BY d.due_at, d.publication + 0 LIMIT $1::bigint)
SELECT x.key, x.topic, x.source, x.at, x.due_at, x.head, x.body, x.sum, true, NULL::text,
  CASE WHEN x.place = '-infinity' THEN 0 ELSE (extract(epoch FROM x.place) * 1000000)::bigint END FROM (
  SELECT p.*, d.due_at AS place, sum(octet_length(p.body)) OVER (ORDER BY d.due_at, d.publication) - octet_length(p.body) AS before
  FROM d JOIN {schema}.publications p ON p.key = d.publication) x
WHERE x.before <= $2::bigint ORDER BY x.place, x.key

-- name: next_publication
-- The time, and when the next publication is due that is not yet. Index due_due.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT now, (SELECT d.due_at FROM {schema}.due d WHERE d.due_at > (SELECT now FROM clock) AND d.due_at < 'infinity' ORDER BY d.due_at LIMIT 1) FROM clock

-- name: are_due
-- How many publications are to be spread. Each is looked up by its key: plans may be of when nothing was due.
SELECT count(*) FROM unnest($1::bigint[]) u(key) CROSS JOIN LATERAL (SELECT d.due_at FROM {schema}.due d WHERE d.publication = u.key OFFSET 0) d
WHERE d.due_at < 'infinity' AND d.due_at <= clock_timestamp()

-- name: delete_due
-- Publications were spread.
DELETE FROM {schema}.due WHERE publication = ANY($1::bigint[])

-- name: set_aside
-- Publications go to nobody.
UPDATE {schema}.due SET due_at = 'infinity', error = ($2::text[])[array_position($1::bigint[], publication)] WHERE publication = ANY($1::bigint[])

-- name: spreading
-- What subscriptions and the cut come to.
SELECT revision, cut FROM {schema}.spreading LIMIT 1

-- name: lock_spreading
-- Has nobody else spread until the end of the transaction. No row: somebody does.
SELECT revision, cut FROM {schema}.spreading LIMIT 1 FOR UPDATE SKIP LOCKED

-- name: hold_spreading
-- Has nobody spread, or subscribe, until the end of the transaction; waits for who does.
SELECT revision FROM {schema}.spreading LIMIT 1 FOR UPDATE

-- name: set_spreading
-- Subscriptions or the cut have changed.
UPDATE {schema}.spreading SET revision = $1, cut = $2

-- name: list_subscriptions
-- All subscriptions, by name.
SELECT name, said, sum FROM {schema}.subscriptions ORDER BY name COLLATE "C"

-- name: put_subscription
-- Makes a subscription, or says it anew.
INSERT INTO {schema}.subscriptions (name, said, sum) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE SET said = $2, sum = $3

-- name: delete_subscription
-- Ends a subscription.
DELETE FROM {schema}.subscriptions WHERE name = $1

-- name: own_queue
-- Makes the queue of a subscription. One that is there stays as it is.
INSERT INTO {schema}.queues (name, visibility_ns, max_receives) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING

-- name: list_publications
-- What was published, the newest first, before one.
SELECT p.key, p.topic, p.source, p.at, p.due_at, p.head, p.body, p.sum, d.publication IS NOT NULL, d.error
FROM (SELECT * FROM {schema}.publications WHERE key < $1 ORDER BY key DESC LIMIT $2::bigint) p
LEFT JOIN LATERAL (SELECT d.publication, d.error FROM {schema}.due d WHERE d.publication = p.key OFFSET 0) d ON true ORDER BY p.key DESC

-- name: find_published
-- What was published before one to topics like some, the newest first, up to $3 of the next $2; with each how many were
-- looked at, the last of them, and when that was published. Where none is for them there is one row, of key 0; where
-- none was looked at there is none. Primary key of publications.
WITH w AS MATERIALIZED (SELECT key, topic, at FROM {schema}.publications WHERE key < $1 ORDER BY key DESC LIMIT $2::bigint),
f AS MATERIALIZED (SELECT key FROM w WHERE topic LIKE ANY ($4::text[]) ORDER BY key DESC LIMIT $3::bigint),
e AS MATERIALIZED (SELECT (SELECT count(*) FROM w) AS looked, key AS last, at FROM w ORDER BY key LIMIT 1)
SELECT coalesce(p.key, 0), coalesce(p.topic, ''), p.source, coalesce(p.at, e.at), coalesce(p.due_at, e.at), coalesce(p.head, ''),
  coalesce(p.body, ''), coalesce(p.sum, 0), d.publication IS NOT NULL, d.error, e.looked, e.last, e.at
FROM e LEFT JOIN f ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.publications x WHERE x.key = f.key OFFSET 0) p ON true
LEFT JOIN LATERAL (SELECT d.publication, d.error FROM {schema}.due d WHERE d.publication = f.key OFFSET 0) d ON true
ORDER BY f.key DESC

-- name: sweep_publications
-- Deletes of the next $3 publications behind one those that are old ($2), as long as all are, and are due no more. The last one that was looked at; null: there is none that is old.
WITH old AS MATERIALIZED (
  SELECT p.key, p.at <= $2::timestamptz AS old, p.due_at <= $2::timestamptz AND (d.due_at IS NULL OR d.due_at = 'infinity') AS goes
  FROM (SELECT key, at, due_at FROM {schema}.publications WHERE key > $1 ORDER BY key LIMIT $3::bigint) p
  LEFT JOIN LATERAL (SELECT d.due_at FROM {schema}.due d WHERE d.publication = p.key OFFSET 0) d ON true),
gone AS (DELETE FROM {schema}.publications WHERE key = ANY(ARRAY(SELECT key FROM old WHERE old AND goes)) RETURNING key),
aside AS (DELETE FROM {schema}.due WHERE publication = ANY(ARRAY(SELECT key FROM gone)))
SELECT CASE WHEN bool_and(old) AND count(*) = $3::bigint THEN max(key) END FROM old

-- name: insert_listens
-- Waits that listen to what is published.
INSERT INTO {schema}.listens (run, wait, shape, hash, since, last, back, match)
SELECT a.run, a.wait, a.shape, a.hash, a.since, (SELECT coalesce(max(key), 0) FROM {schema}.publications), a.back, a.match
FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[], $6::boolean[], $7::text[]) a(run, wait, shape, hash, since, back, match)

-- name: delete_listens
-- Those that are over. Index listens_pkey.
DELETE FROM {schema}.listens l USING unnest($1::bigint[], $2::text[]) a(run, wait) WHERE l.run = a.run AND l.wait = a.wait

-- name: delete_run_listens
-- Of runs that are over, or in a new segment. Index listens_pkey.
DELETE FROM {schema}.listens WHERE run = ANY ($1::bigint[])

-- name: listen_shapes
-- Each shape once: a probe of listens_hash for each.
WITH RECURSIVE s (shape) AS (
  (SELECT shape FROM {schema}.listens ORDER BY shape LIMIT 1)
  UNION ALL
  SELECT (SELECT l.shape FROM {schema}.listens l WHERE l.shape > s.shape ORDER BY l.shape LIMIT 1) FROM s WHERE s.shape IS NOT NULL)
SELECT shape FROM s WHERE shape IS NOT NULL

-- name: listeners
-- A page of the waits with some hashes. Index listens_hash, for each of them.
SELECT l.run, r.id, l.wait, l.shape, l.hash, l.since, l.last
FROM unnest($1::text[], $2::bigint[]) a(shape, hash) CROSS JOIN LATERAL (
  SELECT run, wait, shape, hash, since, last FROM {schema}.listens l WHERE l.shape = a.shape AND l.hash = a.hash AND (l.run, l.wait) > ($3::bigint, $4::text)
  ORDER BY l.run, l.wait LIMIT $5) l JOIN {schema}.runs r ON r.key = l.run
ORDER BY l.run, l.wait LIMIT $5

-- name: looking_back
-- A page of the waits that look back, and have not yet. Index listens_back.
SELECT l.run, r.id, l.wait, l.shape, l.hash, l.since, l.last, l.match FROM {schema}.listens l JOIN {schema}.runs r ON r.key = l.run
WHERE l.back AND (l.run, l.wait) > ($1::bigint, $2::text) ORDER BY l.run, l.wait LIMIT $3

-- name: looked_back
-- Waits that have looked back. Index listens_pkey.
UPDATE {schema}.listens l SET back = false, match = NULL FROM unnest($1::bigint[], $2::text[]) a(run, wait) WHERE l.run = a.run AND l.wait = a.wait
