-- Limits: what is declared, places that are held, lines and who is admitted.

-- name: insert_placed
-- Queue rows of runs that are created and need places. Those that are due stand in the line of the first one, and are
-- news of it; the others come when they fall due. Of a workflow that is
-- held they are not to begin: see move_held.
WITH b AS MATERIALIZED (
  SELECT b.*, b.places::text[] AS needs, greatest(b.wake, c.now) AS due, h.workflow IS NOT NULL AS held,
    NOT b.paused AND (b.wake IS NULL OR b.wake <= c.now) AND h.workflow IS NULL AS comes
  FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::smallint[], $5::timestamptz[], $6::boolean[], $7::text[], $8::smallint[], $9::timestamptz[],
    $10::text[], $11::smallint[]) b(run, class, running, priority, wake, paused, places, keeps, created, workflow, rates)
  CROSS JOIN (SELECT clock_timestamp() AS now) c LEFT JOIN {schema}.holds h ON h.workflow = b.workflow AND h.state < 2),
q AS (
  INSERT INTO {schema}.queue (run, class, running, priority, take, wake_at, ready_at, paused, "full", places, keeps, has, parked_at, rates)
  SELECT b.run, CASE WHEN b.held THEN -b.class ELSE b.class END, b.running, b.priority, 0, b.due, CASE WHEN NOT b.comes AND NOT b.paused THEN b.due END, b.paused, false, b.needs, b.keeps, 0,
    CASE WHEN b.comes THEN b.created END, nullif(b.rates, 0) FROM b)
INSERT INTO {schema}.limit_news (key, kind, urgency, place, run) SELECT b.needs[1], 2, 3 - b.priority, b.created, b.run FROM b WHERE b.comes

-- name: task_in_line
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

-- name: insert_placed_tasks
-- Tasks are created that need places. Those that are due stand in the line of the first one, and are news of it. Index tasks_run.
WITH a AS MATERIALIZED (
  SELECT a.*, a.places::text[] AS needs, c.now, a.visible IS NULL OR a.visible <= c.now AS comes
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::bytea[], $7::smallint[], $8::timestamptz[], $9::integer[], $10::text[], $11::smallint[])
    a(run, step, name, workflow, input, options, priority, visible, sum, places, rates) CROSS JOIN (SELECT clock_timestamp() AS now) c),
t AS (
  INSERT INTO {schema}.tasks (run, step, name, workflow, input, options, priority, visible_at, sum, places, has, rates, parked_at, asked_at)
  SELECT a.run, a.step, a.name, a.workflow, a.input, a.options, a.priority, CASE WHEN a.comes THEN '9999-12-31T00:00:00Z' ELSE a.visible END, a.sum, a.needs, 0,
    nullif(a.rates, 0), CASE WHEN a.comes THEN a.now END, a.now FROM a
  RETURNING key, priority, places, parked_at)
INSERT INTO {schema}.limit_news (key, kind, urgency, place, run) SELECT t.places[1], 2, 3 - t.priority, t.parked_at, t.key - 4611686018427387904 FROM t WHERE t.parked_at IS NOT NULL

-- name: rest_places
-- Runs that are not to be claimed now leave their line, and give back what they do not keep until their end. Those that
-- have begun need nothing of rates. By key; the rows are locked.
WITH mine AS (
  SELECT q.run, q.places, q.has, CASE WHEN q.running THEN q.rates END AS paid, least(q.has, CASE WHEN q.running THEN q.keeps ELSE 0 END) AS keep
  FROM {schema}.queue q WHERE q.run = ANY($1::bigint[]) AND q.places IS NOT NULL),
freed AS (INSERT INTO {schema}.limit_news (key, kind) SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(m.keep + 1, m.has) i WHERE m.places[i] IS NOT NULL)
UPDATE {schema}.queue q SET has = m.keep, parked_at = NULL,
  places = CASE WHEN m.paid > 0 THEN m.places[1:cardinality(m.places) - m.paid] ELSE m.places END, rates = CASE WHEN m.paid > 0 THEN NULL ELSE q.rates END FROM mine m WHERE q.run = m.run

-- name: leave_places
-- Runs are over, and give back all their places. By key; the rows are locked, and deleted next.
INSERT INTO {schema}.limit_news (key, kind)
SELECT q.places[i], 0 FROM {schema}.queue q CROSS JOIN generate_series(1, q.has) i WHERE q.run = ANY($1::bigint[]) AND q.places[i] IS NOT NULL

-- name: park_runs
-- Runs that are due, or that mail makes runnable as in claim_runs, and lack a place stand in the line of that: in its
-- first one a run stands where it was created, in a later one as who came last. One that is not to begin, see
-- move_held, stands in none, nor one that was paused since it was seen. By key; indexes runs_pkey, inbox_run, inbox_acts.
WITH mine AS MATERIALIZED (
  SELECT q.run, q.priority, q.places[q.has + 1] AS key, CASE WHEN q.has = 0 OR q.has = q.keeps AND q.running THEN r.created_at ELSE clock_timestamp() END AS place
  FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run
  WHERE q.run = ANY($1::bigint[]) AND q.owner IS NULL AND q.class > 0 AND q.parked_at IS NULL AND q.has < cardinality(q.places) AND q.places[q.has + 1] IS NOT NULL
    AND (q.ready_at <= clock_timestamp()
      OR q.running AND NOT q.paused AND q.blocked IS NULL AND EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run OFFSET 0)
      OR EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run AND (i.cancel OR i.act IS NOT NULL)
        AND (i.cancel AND q.running AND q.blocked IS NULL OR q.paused AND i.act = 'run_resumed') OFFSET 0))
  ORDER BY q.run FOR UPDATE OF q SKIP LOCKED),
parked AS (UPDATE {schema}.queue q SET parked_at = m.place, ready_at = NULL FROM mine m WHERE q.run = m.run)
INSERT INTO {schema}.limit_news (key, kind, urgency, place, run) SELECT m.key, 2, 3 - m.priority, m.place, m.run FROM mine m

-- name: know_limit
-- A limit that a run needs, as the first start under it says.
INSERT INTO {schema}.limits (name, said, until_end, per_ns, burst, refuse, runs, steps, messages)
VALUES ($1, $2, $3, nullif($4::bigint, 0), nullif($5::integer, 0), nullif($6::boolean, false), $7, $8, $9) ON CONFLICT DO NOTHING

-- name: list_limits
-- All limits, which are few, or one.
SELECT name, said, number, until_end, coalesce(per_ns, 0), coalesce(burst, 0), coalesce(refuse, false), runs, steps, messages FROM {schema}.limits
WHERE $1::text IS NULL OR name = $1 ORDER BY name COLLATE "C"

-- name: set_limit
-- An operator says a number, or that code's holds again. By key.
UPDATE {schema}.limits SET number = $2 WHERE name = $1

-- name: say_limit
-- Code says something else of a limit. By key.
UPDATE {schema}.limits SET said = $2, per_ns = nullif($3::bigint, 0), burst = nullif($4::integer, 0), runs = runs OR $5, steps = steps OR $6, messages = messages OR $7
WHERE name = $1 AND (said <> $2 OR coalesce(per_ns, 0) <> $3 OR coalesce(burst, 0) <> $4 OR $5 AND NOT runs OR $6 AND NOT steps OR $7 AND NOT messages)

-- name: renew_limit
-- The number of a limit ($1, and $2 behind all its keys) has changed: who admits looks at all its keys that have a row.
-- Nobody admits meanwhile: hold_limiting comes before, as this one would not see the keys of who admits while it waits.
-- Index limit_keys_pkey.
INSERT INTO {schema}.limit_news (key, kind) SELECT k.key, 1 FROM {schema}.limit_keys k WHERE k.key >= $1 AND k.key < $2

-- name: retime_keys
-- A rate is another from now on: the turns of its keys ($1, and $2 behind all of them) are what they would be by that, by
-- how far the burst of the old one ($3) and of the new one ($4) goes back, how far behind that a turn may be ($5), and the
-- share of its time in the old one's ($6): see package rules. Index limit_keys_pkey.
WITH clock AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 AS now),
k AS MATERIALIZED (SELECT k.key FROM {schema}.limit_keys k WHERE k.key >= $1 AND k.key < $2 AND k.turn_ns > 0 ORDER BY k.key FOR UPDATE)
UPDATE {schema}.limit_keys u SET turn_ns = c.now - $4::bigint + CASE WHEN u.turn_ns <= c.now - $3::bigint THEN u.turn_ns - (c.now - $3::bigint)
  ELSE least(ceil((u.turn_ns - (c.now - $3::bigint))::double precision * $6::double precision), $5::double precision)::bigint END
FROM k CROSS JOIN clock c WHERE u.key = k.key

-- name: list_limit_keys
-- Keys of a limit ($1: from which on, $2: before which), at most $3; how many places are held, and how many runs and tasks stand
-- in line: $4 of its line are counted, and since when the first of them has. What is news is counted as if it had been looked at. Indexes limit_keys_pkey,
-- limit_weights_pkey, limit_news_pkey, limit_line_pkey, queue_pkey, tasks_pkey.
WITH RECURSIVE news (key, n) AS (
  SELECT (SELECT n.key FROM {schema}.limit_news n WHERE n.key >= $1 AND n.key < $2 ORDER BY n.key LIMIT 1), 1
  UNION ALL
  SELECT (SELECT n.key FROM {schema}.limit_news n WHERE n.key > m.key AND n.key < $2 ORDER BY n.key LIMIT 1), m.n + 1 FROM news m WHERE m.key IS NOT NULL AND m.n < $3::integer),
keys AS MATERIALIZED (
  SELECT key FROM ((SELECT k.key FROM {schema}.limit_keys k WHERE k.key >= $1 AND k.key < $2 ORDER BY k.key LIMIT $3::integer)
    UNION SELECT key FROM news WHERE key IS NOT NULL) u ORDER BY key LIMIT $3::integer)
SELECT a.key, greatest(coalesce((SELECT k.used FROM {schema}.limit_keys k WHERE k.key = a.key), 0)
    - (SELECT count(*) FROM (SELECT 1 FROM {schema}.limit_news n WHERE n.key = a.key AND n.kind = 0 LIMIT $4::integer) f), 0),
  w.n, w.oldest,
  coalesce((SELECT k.turn_ns FROM {schema}.limit_keys k WHERE k.key = a.key), 0),
  coalesce((SELECT w.weight FROM {schema}.limit_weights w WHERE w.key = a.key), 0)
FROM keys a CROSS JOIN LATERAL (SELECT count(*) AS n, min(w.place) AS oldest FROM (
    SELECT l.place, l.run FROM (SELECT l.place, l.run FROM {schema}.limit_line l WHERE l.key = a.key LIMIT $4::integer) l
    UNION SELECT n.place, n.run FROM (SELECT n.place, n.run FROM {schema}.limit_news n WHERE n.key = a.key AND n.kind = 2 LIMIT $4::integer) n) w
    CROSS JOIN LATERAL (SELECT 1 FROM {schema}.limit_need(w.run) q WHERE q.parked_at = w.place AND q.places[q.has + 1] = a.key OFFSET 0) q) w
ORDER BY a.key

-- name: list_holders
-- What holds places of a key ($1), at most $2: runs, tasks, messages; each with the name of its workflow, step or queue.
-- All of the queue, of tasks and of messages, on purpose.
SELECT h.id, h.step, h.name, h.message, h.sent_at FROM (
  SELECT 0 AS kind, q.run AS key, r.id, NULL::text AS step, r.workflow AS name, NULL::bigint AS message, NULL::timestamptz AS sent_at
  FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run WHERE q.places IS NOT NULL AND q.places[1:q.has] @> ARRAY[$1::text]
  UNION ALL
  SELECT 1, t.key, r.id, t.step, t.name, NULL, NULL FROM {schema}.tasks t JOIN {schema}.runs r ON r.key = t.run
  WHERE t.places IS NOT NULL AND t.places[1:t.has] @> ARRAY[$1::text]
  UNION ALL
  SELECT 2, m.key, NULL, NULL, u.name, m.key, m.sent_at FROM {schema}.messages m JOIN {schema}.queues u ON u.key = m.queue
  WHERE m.places IS NOT NULL AND m.places[1:m.has] @> ARRAY[$1::text]) h ORDER BY h.kind, h.key LIMIT $2::integer

-- name: in_line
-- Where a run stands in line: of what, behind how many ($2 are counted), and what the limit says. No row: there is no
-- such run; no key: it stands in none. Indexes runs_id, queue_pkey, tasks_pkey, limit_line_pkey, limit_news_pkey, limits_pkey, limit_keys_pkey, limit_weights_pkey.
SELECT q.key, l.until_end, coalesce(l.number, l.said, 1)::bigint * greatest(least(coalesce(w.weight, 1), 100), 1), coalesce(l.per_ns, 0), coalesce(l.burst, 0), coalesce(k.turn_ns, 0), (SELECT count(*) FROM (
    SELECT a.place, a.run FROM (SELECT a.place, a.run FROM {schema}.limit_line a WHERE a.key = q.key AND (a.urgency, a.place, a.run) < (3 - q.priority, q.place, q.run) LIMIT $2::integer) a
    UNION SELECT n.place, n.run FROM (SELECT n.place, n.run FROM {schema}.limit_news n
      WHERE n.key = q.key AND n.kind = 2 AND (n.urgency, n.place, n.run) < (3 - q.priority, q.place, q.run) LIMIT $2::integer) n) b
  CROSS JOIN LATERAL (SELECT 1 FROM {schema}.limit_need(b.run) o WHERE o.parked_at = b.place AND o.places[o.has + 1] = q.key OFFSET 0) o), greatest(coalesce(k.used, 0), 0)
FROM {schema}.runs r
LEFT JOIN LATERAL (SELECT q.run, q.priority, q.parked_at AS place, q.places[q.has + 1] AS key FROM {schema}.queue q WHERE q.run = r.key AND q.parked_at IS NOT NULL OFFSET 0) q ON true
LEFT JOIN {schema}.limits l ON l.name = split_part(q.key, '/', 1) LEFT JOIN {schema}.limit_keys k ON k.key = q.key
LEFT JOIN {schema}.limit_weights w ON w.key = q.key
WHERE r.ns = 0 AND r.id = $1

-- name: limit_weights
-- The weights of the keys of a limit ($1: from which on, $2: before which), or (null) of all. Index limit_weights_pkey.
SELECT key, weight FROM {schema}.limit_weights WHERE $1::text IS NULL OR (key >= $1 AND key < $2)

-- name: say_limit_weights
-- Code says other weights of the keys of a limit ($1: from which on, $2: before which): $3 and $4. One statement alone: those that are
-- there still are changed. Index limit_weights_pkey.
WITH said AS (SELECT * FROM unnest($3::text[], $4::smallint[]) s(key, weight)),
gone AS (DELETE FROM {schema}.limit_weights w WHERE w.key >= $1 AND w.key < $2 AND w.key <> ALL($3::text[]))
INSERT INTO {schema}.limit_weights AS w (key, weight) SELECT s.key, s.weight FROM said s ON CONFLICT (key) DO UPDATE SET weight = excluded.weight

-- name: paid_rates
-- Runs that a worker ($2) has just claimed have paid the rates that they needed: they need them no more, and others may be
-- let in. By key.
WITH mine AS (
  SELECT q.run, q.places, cardinality(q.places) - q.rates AS stay FROM {schema}.queue q
  WHERE q.run = ANY($1::bigint[]) AND q.owner = $2 AND q.rates > 0 AND q.has >= cardinality(q.places)),
freed AS (INSERT INTO {schema}.limit_news (key, kind) SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(m.stay + 1, cardinality(m.places)) i WHERE m.places[i] IS NOT NULL)
UPDATE {schema}.queue q SET places = m.places[1:m.stay], has = m.stay, rates = NULL FROM mine m WHERE q.run = m.run

-- name: hold_rate
-- A key of a rate that refuses, for a start: how it stands, by the database's clock. Its row is locked. By key.
WITH k AS (INSERT INTO {schema}.limit_keys AS k (key, used) VALUES ($1, 0) ON CONFLICT (key) DO UPDATE SET used = k.used RETURNING k.turn_ns)
SELECT coalesce(k.turn_ns, 0), coalesce(l.number, l.said), l.per_ns, coalesce(l.burst, 0), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000
FROM k JOIN {schema}.limits l ON l.name = split_part($1, '/', 1) WHERE l.per_ns IS NOT NULL

-- name: pay_rate
-- A start has paid: the next has its turn then ($2), and the key may be forgotten ($3). By key.
UPDATE {schema}.limit_keys SET turn_ns = $2, due = $3 WHERE key = $1

-- name: limit_due
-- Whether there is news of limits, when the first key of a rate is to be looked at, and the time. Indexes limit_news_pkey, limit_keys_due.
SELECT EXISTS (SELECT FROM {schema}.limit_news), (SELECT k.due FROM {schema}.limit_keys k WHERE k.due IS NOT NULL ORDER BY k.due LIMIT 1), clock_timestamp()

-- name: make_limiting
-- The row that who admits locks.
INSERT INTO {schema}.limiting (revision, behind) SELECT 1, '' WHERE NOT EXISTS (SELECT FROM {schema}.limiting)

-- name: look_limits
-- What who admits decides by: the state (kind 0); the next keys that have news, at most $1, with how many places they
-- have, by their weights, and how many are held (1); their news, at most $2 for each if there are as many keys, else more (2); and who is
-- first in their lines, as many as there are places free, at most $3 (3); of a rate, no fewer than it lets in, of which $4
-- is what it makes up for, and one more. Of runs and tasks: what they need and have, and whether
-- they stand there still. Keys limit_news_pkey, limits_pkey, limit_keys_pkey, limit_weights_pkey, limit_line_pkey, queue_pkey, tasks_pkey.
WITH RECURSIVE state AS MATERIALIZED (SELECT revision, behind FROM {schema}.limiting LIMIT 1),
page (key, n) AS (
  SELECT (SELECT n.key FROM {schema}.limit_news n WHERE n.key > s.behind ORDER BY n.key LIMIT 1), 1 FROM state s
  UNION ALL
  SELECT (SELECT n.key FROM {schema}.limit_news n WHERE n.key > p.key ORDER BY n.key LIMIT 1), p.n + 1 FROM page p WHERE p.key IS NOT NULL AND p.n < $1::integer),
keys AS MATERIALIZED (
  SELECT p.key, coalesce(l.number, l.said, 1)::bigint * greatest(least(coalesce(w.weight, 1), 100), 1) AS number, greatest(coalesce(k.used, 0), 0) AS used, l.per_ns, coalesce(l.burst, 1) AS burst,
    coalesce(k.turn_ns, 0) AS turn, coalesce(k.late, false) AS late
  FROM page p LEFT JOIN {schema}.limits l ON l.name = split_part(p.key, '/', 1) LEFT JOIN {schema}.limit_keys k ON k.key = p.key
  LEFT JOIN {schema}.limit_weights w ON w.key = p.key WHERE p.key IS NOT NULL),
news AS MATERIALIZED (
  SELECT n.* FROM keys k CROSS JOIN LATERAL (SELECT n.key, n.kind, n.id, n.urgency, n.place, n.run FROM {schema}.limit_news n
    WHERE n.key = k.key ORDER BY n.kind, n.id LIMIT greatest($2::integer, $1::integer * $2::integer / (SELECT count(*) FROM keys))) n),
clock AS MATERIALIZED (SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 AS now),
rooms AS MATERIALIZED (
  SELECT k.key, CASE WHEN k.per_ns IS NULL THEN k.number - k.used + (SELECT count(*) FROM news n WHERE n.key = k.key AND n.kind = 0)
    WHEN k.number > 0 THEN least(k.burst + $4::bigint / greatest(k.per_ns / k.number, 1), greatest(c.now - k.turn, 0) / greatest(k.per_ns / k.number, 1) + 1) + 1 ELSE 1 END AS room
  FROM keys k CROSS JOIN clock c)
SELECT 0::smallint, s.behind, s.revision, 0::smallint, NULL::smallint, NULL::timestamptz, NULL::bigint, NULL::integer, NULL::smallint, NULL::smallint, NULL::boolean, NULL::bigint, NULL::integer, NULL::bigint, NULL::boolean, NULL::integer, NULL::bigint FROM state s
UNION ALL
SELECT 1, k.key, k.number - k.used, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, k.per_ns, k.burst, k.turn, k.late, k.used, c.now FROM keys k CROSS JOIN clock c
UNION ALL
SELECT 2, n.key, n.id, n.kind, n.urgency, n.place, n.run, cardinality(q.places), q.keeps, q.has, q.running, NULL, NULL, NULL, NULL, NULL, NULL
FROM news n LEFT JOIN LATERAL (SELECT q.* FROM {schema}.limit_need(n.run) q WHERE q.owner IS NULL AND q.parked_at = n.place AND q.places[q.has + 1] = n.key OFFSET 0) q ON true
UNION ALL
SELECT 3, r.key, 0, 0, l.urgency, l.place, l.run, cardinality(q.places), q.keeps, q.has, q.running, NULL, NULL, NULL, NULL, NULL, NULL
FROM rooms r CROSS JOIN LATERAL (SELECT l.urgency, l.place, l.run FROM {schema}.limit_line l
  WHERE l.key = r.key ORDER BY l.urgency, l.place, l.run LIMIT greatest(least(r.room, $3::integer), 0)) l
LEFT JOIN LATERAL (SELECT q.* FROM {schema}.limit_need(l.run) q WHERE q.owner IS NULL AND q.parked_at = l.place AND q.places[q.has + 1] = r.key OFFSET 0) q ON true

-- name: lock_limiting
-- Who admits locks the row, unless somebody else does or has since ($1): then it fails by a division by zero.
WITH mine AS (SELECT revision FROM {schema}.limiting WHERE revision = $1::bigint FOR UPDATE SKIP LOCKED),
moved AS (UPDATE {schema}.limiting l SET revision = CASE WHEN l.revision < 9000000000000000000 THEN l.revision + 1 ELSE 1 END, behind = $2 FROM mine WHERE l.revision = mine.revision RETURNING 1)
SELECT 1 / count(*)::integer FROM moved

-- name: delete_limit_news
-- News that was read. By key: ANY of one leaves no other way, also for a plan of when there was no news.
DELETE FROM {schema}.limit_news n USING unnest($1::text[], $2::smallint[], $3::bigint[]) a(key, kind, id) WHERE n.key = ANY(ARRAY[a.key]) AND n.kind = a.kind AND n.id = a.id

-- name: join_line
-- Runs that have come, and get no place yet. By key.
INSERT INTO {schema}.limit_line (key, urgency, place, run)
SELECT * FROM unnest($1::text[], $2::smallint[], $3::timestamptz[], $4::bigint[]) ON CONFLICT DO NOTHING

-- name: leave_line
-- Rows of lines where nobody stands any more. By key: ANY of one leaves no other way, also for a plan of when nobody stood in line.
DELETE FROM {schema}.limit_line l USING unnest($1::text[], $2::smallint[], $3::timestamptz[], $4::bigint[]) a(key, urgency, place, run)
WHERE l.key = ANY(ARRAY[a.key]) AND l.urgency = a.urgency AND l.place = a.place AND l.run = a.run

-- name: admit_runs
-- Runs, tasks and messages ($1 to $4: where they stand) get the place for which they stood in line, in the order of their keys, unless they
-- have left or somebody holds their row: then they stand there still, and are looked at again. Who has all is ready;
-- who needs another one is news of that. What keys ($5) hold is counted from what was changed, and from what was given
-- back ($6). Keys of rates ($7: the turn of the next) keep $8 and $9. By key: + 0, and
-- ANY of one key, leave no other way, also for a plan of when there were no rows.
WITH chosen AS (SELECT * FROM unnest($1::text[], $2::smallint[], $3::timestamptz[], $4::bigint[]) c(key, urgency, place, run)),
runs AS MATERIALIZED (
  SELECT q.run, c.key, c.urgency, c.place, CASE WHEN q.has + 1 < cardinality(q.places) THEN clock_timestamp() END AS parked
  FROM chosen c JOIN {schema}.queue q ON q.run = ANY(ARRAY[c.run])
  WHERE q.owner IS NULL AND q.parked_at = c.place AND q.places[q.has + 1] = c.key ORDER BY q.run + 0 FOR UPDATE OF q SKIP LOCKED),
ready AS (
  UPDATE {schema}.queue q SET has = q.has + 1, parked_at = m.parked, wake_at = CASE WHEN m.parked IS NULL THEN clock_timestamp() ELSE q.wake_at END,
    ready_at = CASE WHEN m.parked IS NULL THEN clock_timestamp() END
  FROM runs m WHERE q.run = ANY(ARRAY[m.run]) RETURNING q.run, m.key, m.urgency, m.place, m.parked, q.places[q.has + 1] AS next),
tasks AS MATERIALIZED (
  SELECT t.key AS task, c.key, c.urgency, c.place, c.run, CASE WHEN t.has + 1 < cardinality(t.places) THEN clock_timestamp() END AS parked
  FROM chosen c JOIN {schema}.tasks t ON t.key = ANY(ARRAY[CASE WHEN c.run < 0 THEN c.run + 4611686018427387904 END])
  WHERE c.run < 0 AND t.worker + 0 IS NULL AND t.parked_at = c.place AND t.places[t.has + 1] = c.key ORDER BY t.key + 0 FOR UPDATE OF t SKIP LOCKED),
shown AS (
  UPDATE {schema}.tasks t SET has = t.has + 1, parked_at = m.parked, visible_at = CASE WHEN m.parked IS NULL THEN clock_timestamp() ELSE t.visible_at END
  FROM tasks m WHERE t.key = ANY(ARRAY[m.task]) RETURNING m.run, m.key, m.urgency, m.place, m.parked, t.places[t.has + 1] AS next, t.run AS of),
messages AS MATERIALIZED (
  SELECT m.key AS message, c.key, c.urgency, c.place, c.run, CASE WHEN m.has + 1 < cardinality(m.places) THEN clock_timestamp() END AS parked
  FROM chosen c JOIN {schema}.messages m ON m.key = ANY(ARRAY[CASE WHEN c.run < -4611686018427387904 THEN c.run + 6917529027641081856 END])
  WHERE c.run < -4611686018427387904 AND m.parked_at = c.place AND m.places[m.has + 1] = c.key ORDER BY m.key + 0 FOR UPDATE OF m SKIP LOCKED),
seen AS (
  UPDATE {schema}.messages x SET has = x.has + 1, parked_at = m.parked, visible_at = CASE WHEN m.parked IS NULL THEN clock_timestamp() ELSE x.visible_at END
  FROM messages m WHERE x.key = ANY(ARRAY[m.message]) RETURNING m.run, m.key, m.urgency, m.place, m.parked, x.places[x.has + 1] AS next, x.queue),
moved AS (
  SELECT r.run, r.key, r.urgency, r.place, r.parked, r.next, r.run AS of, NULL::integer AS queue FROM ready r
  UNION ALL SELECT s.run, s.key, s.urgency, s.place, s.parked, s.next, s.of, NULL FROM shown s
  UNION ALL SELECT n.run, n.key, n.urgency, n.place, n.parked, n.next, NULL, n.queue FROM seen n),
gone AS (DELETE FROM {schema}.limit_line l USING moved m WHERE l.key = ANY(ARRAY[m.key]) AND l.urgency = m.urgency AND l.place = m.place AND l.run = m.run),
still AS (
  INSERT INTO {schema}.limit_line (key, urgency, place, run)
  SELECT c.key, c.urgency, c.place, c.run FROM chosen c WHERE c.run NOT IN (SELECT m.run FROM moved m) ON CONFLICT DO NOTHING),
news AS (
  INSERT INTO {schema}.limit_news (key, kind, urgency, place, run)
  SELECT m.next, 2, m.urgency, m.parked, m.run FROM moved m WHERE m.parked IS NOT NULL
  UNION ALL
  SELECT DISTINCT c.key, 1, NULL::smallint, NULL::timestamptz, NULL::bigint FROM chosen c WHERE c.run NOT IN (SELECT m.run FROM moved m)),
counted AS (
  INSERT INTO {schema}.limit_keys AS k (key, used, turn_ns, late, due)
  SELECT a.key, n.n - a.freed, a.turn, a.late, a.due
  FROM unnest($5::text[], $6::integer[], $7::bigint[], $8::boolean[], $9::timestamptz[]) a(key, freed, turn, late, due)
  CROSS JOIN LATERAL (SELECT count(*) AS n FROM moved m WHERE m.key = a.key) n
  ON CONFLICT (key) DO UPDATE SET used = greatest(least(k.used::bigint + excluded.used, 2147483647), 0)::integer,
    turn_ns = coalesce(excluded.turn_ns, k.turn_ns), late = excluded.late, due = excluded.due)
SELECT r.id, false FROM moved m JOIN {schema}.runs r ON r.key = m.of WHERE m.parked IS NULL
UNION ALL
SELECT q.name, true FROM {schema}.queues q WHERE q.key = ANY(ARRAY(SELECT m.queue FROM moved m WHERE m.parked IS NULL AND m.queue IS NOT NULL))

-- name: look_again
-- Keys have more in line than was looked at.
INSERT INTO {schema}.limit_news (key, kind) SELECT k.key, 1 FROM unnest($1::text[]) k(key)

-- name: drop_limit_keys
-- Keys of which nobody holds a place, for which nobody stands in line, and that have nothing to remember. By key.
DELETE FROM {schema}.limit_keys k WHERE k.key = ANY($1::text[]) AND k.used <= 0 AND k.due IS NULL AND NOT EXISTS (SELECT 1 FROM {schema}.limit_line l WHERE l.key = k.key)

-- name: wake_keys
-- Keys of rates that are to be looked at are news. Index limit_keys_due.
WITH due AS MATERIALIZED (SELECT k.key FROM {schema}.limit_keys k WHERE k.due <= clock_timestamp() ORDER BY k.due LIMIT 1000 FOR UPDATE SKIP LOCKED),
seen AS (UPDATE {schema}.limit_keys k SET due = NULL FROM due d WHERE k.key = d.key)
INSERT INTO {schema}.limit_news (key, kind) SELECT d.key, 1 FROM due d

-- name: neglected_steps
-- The steps of tasks that nobody holds, and that no live worker has, where there are limits. One that holds nothing need not renew its lease for a time
-- ($1, in µs). Index tasks_ready.
WITH RECURSIVE names (name) AS (
  SELECT (SELECT t.name FROM {schema}.tasks t WHERE t.worker IS NULL ORDER BY t.name LIMIT 1) WHERE EXISTS (SELECT FROM {schema}.limits OFFSET 0)
  UNION ALL
  SELECT (SELECT t.name FROM {schema}.tasks t WHERE t.worker IS NULL AND t.name > n.name ORDER BY t.name LIMIT 1) FROM names n WHERE n.name IS NOT NULL),
had AS MATERIALIZED (
  SELECT {schema}.readable(w.steps)::jsonb AS steps FROM {schema}.workers w
  WHERE w.ended IS NULL AND least(w.until, '9999-12-31T00:00:00Z') + $1::bigint * interval '1 microsecond' > clock_timestamp())
SELECT n.name FROM names n WHERE n.name IS NOT NULL AND NOT EXISTS (SELECT FROM had h WHERE h.steps ? n.name) ORDER BY n.name

-- name: rest_tasks
-- Tasks of a step ($1) that nobody holds give back the places of limits that they have, and leave their lines, those in line first, $2 at most. They are ready
-- all the same. Index tasks_ready; the rows are locked, and those that others have locked are left.
WITH mine AS MATERIALIZED (
  SELECT t.key, t.places, t.has FROM {schema}.tasks t
  WHERE t.name = $1::text AND t.worker IS NULL AND t.places IS NOT NULL AND (t.has > 0 OR t.parked_at IS NOT NULL)
  ORDER BY t.priority DESC, t.workflow DESC, t.visible_at DESC LIMIT $2::integer FOR UPDATE SKIP LOCKED),
freed AS (INSERT INTO {schema}.limit_news (key, kind) SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(1, m.has) i WHERE m.places[i] IS NOT NULL),
back AS (
  UPDATE {schema}.tasks t SET has = 0, parked_at = NULL, visible_at = CASE WHEN t.parked_at IS NULL THEN t.visible_at ELSE clock_timestamp() END
  FROM mine m WHERE t.key = ANY(ARRAY[m.key]) RETURNING 1)
SELECT count(*) FROM back

-- name: neglected_queues
-- Queues that share a limit with other queues, with steps or with runs, and whether nobody receives from each: nothing of it is out, and a message
-- that has places could have been received for a time ($1, in µs). Of each priority it looks at 1,000. Indexes messages_ready and messages_heads.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
l AS MATERIALIZED (
  SELECT q.key, x.v ->> 'name' AS name FROM {schema}.queues q
  CROSS JOIN LATERAL (SELECT {schema}.readable(q.limits) AS said OFFSET 0) t
  CROSS JOIN LATERAL json_array_elements(CASE WHEN json_typeof(t.said) = 'array' THEN t.said ELSE '[]' END) x(v) WHERE q.limits IS NOT NULL),
s AS MATERIALIZED (
  SELECT DISTINCT a.key FROM l a WHERE EXISTS (SELECT FROM l b WHERE b.name = a.name AND b.key <> a.key)
    OR EXISTS (SELECT FROM {schema}.limits t WHERE t.name = a.name AND (t.runs OR t.steps)))
SELECT s.key, (EXISTS (SELECT FROM unnest('{0,1,2,3}'::smallint[]) p(priority) CROSS JOIN LATERAL (
    SELECT m.has FROM {schema}.messages m WHERE m.queue = s.key AND m.priority = p.priority AND m.grp IS NULL AND m.visible_at < 'infinity'
      AND m.visible_at <= (SELECT now FROM clock) - $1::bigint * interval '1 microsecond' ORDER BY m.visible_at DESC LIMIT 1000) x WHERE x.has > 0)
  OR EXISTS (SELECT FROM (
    SELECT m.has FROM {schema}.messages m WHERE m.queue = s.key AND m.grp IS NOT NULL AND m.visible_at < 'infinity'
      AND m.visible_at <= (SELECT now FROM clock) - $1::bigint * interval '1 microsecond' ORDER BY m.visible_at DESC LIMIT 1000) x WHERE x.has > 0))
  AND NOT EXISTS (SELECT FROM unnest('{0,1,2,3}'::smallint[]) p(priority) CROSS JOIN LATERAL (
    SELECT m.held FROM {schema}.messages m WHERE m.queue = s.key AND m.priority = p.priority AND m.grp IS NULL AND m.visible_at < 'infinity'
      AND m.visible_at > (SELECT now FROM clock) ORDER BY m.visible_at LIMIT 1000) x WHERE x.held)
  AND NOT EXISTS (SELECT FROM (
    SELECT m.held FROM {schema}.messages m WHERE m.queue = s.key AND m.grp IS NOT NULL AND m.visible_at < 'infinity'
      AND m.visible_at > (SELECT now FROM clock) ORDER BY m.visible_at LIMIT 1000) x WHERE x.held)
FROM s ORDER BY s.key

-- name: rest_messages
-- Messages of a queue ($1) that nobody receives from give back the places of limits that they have, and leave their lines: up to $3 of those in line
-- behind one ($2), and as many of those that are ready. They are ready all the same. A receive whose visibility has ended is over, and a trigger has
-- that give back its places. Tells how many did, and the last one of those in line. Indexes messages_parked, messages_ready and messages_heads;
-- the rows are locked, and those that others have locked are left.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
parked AS MATERIALIZED (
  SELECT m.key, m.places, m.has, m.held FROM {schema}.messages m
  WHERE m.queue = $1 AND (m.dead, m.key) > (false, $2::bigint) AND NOT m.dead AND m.visible_at = 'infinity' AND m.parked_at IS NOT NULL
  ORDER BY m.queue, m.dead, m.key LIMIT $3::bigint FOR UPDATE SKIP LOCKED),
ready AS MATERIALIZED (
  SELECT x.key, x.places, x.has, x.held FROM unnest('{0,1,2,3}'::smallint[]) p(priority) CROSS JOIN LATERAL (
    SELECT m.key, m.places, m.has, m.held FROM {schema}.messages m WHERE m.queue = $1 AND m.priority = p.priority AND m.grp IS NULL AND m.visible_at < 'infinity'
      AND m.visible_at <= (SELECT now FROM clock) AND m.has > 0 ORDER BY m.visible_at DESC LIMIT $3::bigint FOR UPDATE SKIP LOCKED) x),
heads AS MATERIALIZED (
  SELECT m.key, m.places, m.has, m.held FROM {schema}.messages m WHERE m.queue = $1 AND m.grp IS NOT NULL AND m.visible_at < 'infinity'
    AND m.visible_at <= (SELECT now FROM clock) AND m.has > 0 ORDER BY m.visible_at DESC LIMIT $3::bigint FOR UPDATE SKIP LOCKED),
mine AS MATERIALIZED (SELECT * FROM parked UNION ALL SELECT * FROM ready UNION ALL SELECT * FROM heads),
freed AS (
  INSERT INTO {schema}.limit_news (key, kind)
  SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(1, m.has) i WHERE NOT m.held AND m.places[i] IS NOT NULL),
back AS (
  UPDATE {schema}.messages x SET has = 0, parked_at = NULL, held = false, visible_at = least(x.visible_at, (SELECT now FROM clock))
  FROM mine m WHERE x.key = ANY(ARRAY[m.key]) RETURNING 1)
SELECT (SELECT count(*) FROM back), (SELECT max(key) FROM parked)

-- name: neglected_classes
-- The classes of runs that nobody owns, and that no live worker has, where there are limits. One that holds nothing need not renew its lease for a time
-- ($1, in µs). Indexes queue_ready, queue_placed.
WITH had AS MATERIALIZED (
  SELECT {schema}.readable(w.classes)::jsonb AS classes FROM {schema}.workers w
  WHERE w.ended IS NULL AND least(w.until, '9999-12-31T00:00:00Z') + $1::bigint * interval '1 microsecond' > clock_timestamp())
SELECT c.key FROM {schema}.classes c WHERE EXISTS (SELECT FROM {schema}.limits OFFSET 0)
  AND (EXISTS (SELECT FROM {schema}.queue q WHERE q.class = c.key AND q.ready_at IS NOT NULL OFFSET 0)
    OR EXISTS (SELECT FROM {schema}.queue q WHERE q.class = c.key AND q.owner IS NULL AND q.has + (q.parked_at IS NOT NULL)::integer > 0 OFFSET 0))
  AND NOT EXISTS (SELECT FROM had h WHERE h.classes @> jsonb_build_array(jsonb_build_object('workflow', c.workflow, 'version', c.version)))
ORDER BY c.key

-- name: rest_runs
-- Runs of a class ($1) that nobody owns give back the places of limits that they do not keep while they wait, and leave their lines, those in line first, $2 at
-- most. They are ready all the same. Index queue_placed; the rows are locked, and those that others have locked are left.
WITH mine AS MATERIALIZED (
  SELECT q.run, q.places, q.has, least(q.has, CASE WHEN q.running THEN q.keeps ELSE 0 END) AS keep FROM {schema}.queue q
  WHERE q.class = $1::integer AND q.owner IS NULL AND q.has + (q.parked_at IS NOT NULL)::integer > 0 AND q.places IS NOT NULL
    AND (q.parked_at IS NOT NULL OR q.has > CASE WHEN q.running THEN q.keeps ELSE 0 END)
  ORDER BY q.ready_at DESC LIMIT $2::integer FOR UPDATE SKIP LOCKED),
freed AS (INSERT INTO {schema}.limit_news (key, kind) SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(m.keep + 1, m.has) i WHERE m.places[i] IS NOT NULL),
back AS (
  UPDATE {schema}.queue q SET has = m.keep, parked_at = NULL, ready_at = CASE WHEN q.parked_at IS NULL THEN q.ready_at ELSE q.wake_at END
  FROM mine m WHERE q.run = ANY(ARRAY[m.run]) RETURNING 1)
SELECT count(*) FROM back

-- name: hold_limiting
-- Nobody admits until the end of the transaction, and who has decided before it decides anew.
UPDATE {schema}.limiting SET revision = CASE WHEN revision < 9000000000000000000 THEN revision + 1 ELSE 1 END

-- name: mend_limits
-- What keys hold is counted anew: by the rows of the queue and of tasks, and what was given back since somebody admitted last. Runs
-- that stand in line, and are in none, come to it again. Nobody admits meanwhile. All of the queue and of tasks, on purpose.
WITH held AS (SELECT k.key, count(*) AS n FROM {schema}.limit_needs q CROSS JOIN LATERAL unnest(q.places[1:q.has]) k(key) WHERE q.places IS NOT NULL AND k.key IS NOT NULL GROUP BY k.key),
freed AS (SELECT n.key, count(*) AS n FROM {schema}.limit_news n WHERE n.kind = 0 GROUP BY n.key),
are AS (SELECT coalesce(h.key, f.key) AS key, coalesce(h.n, 0) + coalesce(f.n, 0) AS used FROM held h FULL JOIN freed f ON f.key = h.key),
wrong AS MATERIALIZED (
  SELECT coalesce(a.key, k.key) AS key, coalesce(a.used, 0) AS used FROM are a FULL JOIN {schema}.limit_keys k ON k.key = a.key
  WHERE coalesce(a.used, 0) <> coalesce(k.used, 0)),
lost AS MATERIALIZED (
  SELECT q.places[q.has + 1] AS key, 3 - q.priority AS urgency, q.parked_at AS place, q.run FROM {schema}.limit_needs q
  WHERE q.parked_at IS NOT NULL AND q.owner IS NULL AND q.places[q.has + 1] IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM {schema}.limit_line l WHERE l.key = q.places[q.has + 1] AND l.urgency = 3 - q.priority AND l.place = q.parked_at AND l.run = q.run)
    AND NOT EXISTS (SELECT 1 FROM {schema}.limit_news n WHERE n.key = q.places[q.has + 1] AND n.kind = 2 AND n.run = q.run AND n.place = q.parked_at)),
put AS (
  INSERT INTO {schema}.limit_keys (key, used) SELECT w.key, w.used FROM wrong w ON CONFLICT (key) DO UPDATE SET used = excluded.used),
news AS (
  INSERT INTO {schema}.limit_news (key, kind, urgency, place, run)
  SELECT l.key, 2, l.urgency, l.place, l.run FROM lost l UNION ALL SELECT w.key, 1, NULL, NULL, NULL FROM wrong w)
SELECT (SELECT count(*) FROM wrong) + (SELECT count(*) FROM lost)
