-- The queue of live runs: what is ready, claims, releases.

-- name: insert_queue
-- Queue rows of runs that are created: due at once unless they were to start later, or as their worker says that gives them up with their birth (rest). Of a
-- workflow that is held they are not to begin: see move_held.
INSERT INTO {schema}.queue (run, class, running, priority, owner, take, wake_at, ready_at, paused, blocked, "full", waiting)
SELECT b.run, CASE WHEN h.workflow IS NULL OR b.take > 0 THEN b.class ELSE -b.class END, b.running, b.priority, b.owner, b.take, CASE WHEN b.rest THEN b.wake ELSE greatest(b.wake, clock_timestamp()) END,
  CASE WHEN b.owner IS NULL AND NOT b.paused THEN CASE WHEN b.rest THEN b.wake ELSE greatest(b.wake, clock_timestamp()) END END,
  b.paused, b.blocked, b."full", b.waiting
FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::smallint[], $5::bigint[], $6::bigint[], $7::timestamptz[], $8::boolean[], $9::boolean[],
  $10::text[], $11::boolean[], $12::text[], $13::text[])
  b(run, class, running, priority, owner, take, wake, paused, rest, blocked, "full", waiting, workflow)
LEFT JOIN {schema}.holds h ON h.workflow = b.workflow AND h.state < 2

-- name: lock_queue
-- Locks queue rows in the order of their runs, and fails by a division by zero unless each shows the owner and the claim that are named. By key.
SELECT 1 / (count(*) = cardinality($1::bigint[]))::integer FROM (
  SELECT 1 FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) a(run, owner, take)
  JOIN {schema}.queue q ON q.run = a.run AND q.owner = a.owner AND q.take = a.take
  ORDER BY q.run FOR UPDATE OF q) locked

-- name: lock_run
-- Locks the queue row of a run. By key.
SELECT 1 FROM {schema}.queue WHERE run = $1::bigint FOR UPDATE

-- name: share_run
-- Holds up the end of a run until its end can tell whoever asks. No row: it is over. By key.
SELECT 1 FROM {schema}.queue WHERE run = $1::bigint FOR SHARE

-- name: update_queue
-- Runs have started, have another version, or were paused or resumed by their owners. By key; the rows are locked.
UPDATE {schema}.queue q SET class = a.class, running = a.running, paused = a.paused
FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::boolean[]) a(run, class, running, paused) WHERE q.run = a.run

-- name: release_queue
-- Owners give their runs up; resumed: it is paused, and is to be claimed for a resumption that waits. By key; the rows are locked.
UPDATE {schema}.queue q SET class = a.class, running = a.running, paused = a.paused, owner = NULL, strikes = 0, taken = greatest(q.taken, a.last), wake_at = a.wake,
  ready_at = CASE WHEN a.resumed OR NOT a.paused THEN a.wake END,
  blocked = a.blocked, "full" = a."full", waiting = a.waiting, released = a.released
FROM unnest($1::bigint[], $2::integer[], $3::boolean[], $4::boolean[], $5::timestamptz[], $6::text[], $7::boolean[], $8::text[], $9::bytea[], $10::boolean[],
  $11::bigint[])
  a(run, class, running, paused, wake, blocked, "full", waiting, released, resumed, last) WHERE q.run = a.run

-- name: release_of
-- Who owns a run, under which claim, and what released it last. By key.
SELECT w.id, q.take, q.released FROM {schema}.queue q LEFT JOIN {schema}.workers w ON w.key = q.owner WHERE q.run = $1::bigint

-- name: delete_queue
-- Runs are over. By key; the rows are locked. Whoever wants to wait for their end and comes later finds no row.
DELETE FROM {schema}.queue WHERE run = ANY($1::bigint[])

-- name: act_queue
-- Somebody paused or resumed a run that nobody owns; it is due ($3) at once then, or when it would have been, but not before. By key; the row is locked.
UPDATE {schema}.queue q SET paused = $2::boolean, taken = greatest(q.taken, $4::bigint), wake_at = CASE WHEN $2::boolean THEN q.wake_at ELSE d.due END,
  ready_at = CASE WHEN NOT $2::boolean THEN d.due END, parked_at = NULL
FROM (SELECT CASE WHEN $3::boolean THEN clock_timestamp() WHEN wake_at IS NOT NULL THEN greatest(wake_at, clock_timestamp()) END AS due
  FROM {schema}.queue WHERE run = $1::bigint) d
WHERE q.run = $1::bigint

-- name: try_blocked
-- An operator wants a blocked run that nobody owns tried again at once, as if for the first time, or one that was to start later to start now. What a message quotes has its quotes escaped. By key; the
-- row is locked.
UPDATE {schema}.queue SET wake_at = clock_timestamp(), ready_at = CASE WHEN NOT paused AND parked_at IS NULL THEN clock_timestamp() END,
  blocked = regexp_replace(blocked, '"tries":\d+', '"tries":0')
WHERE run = $1::bigint

-- name: right_queue
-- What the log of a run says of its row: running and paused; one that it was told to resume, and has not, is to be claimed for that. By key; index inbox_acts; the row
-- is locked.
UPDATE {schema}.queue q SET running = $2::boolean, paused = $3::boolean, ready_at = CASE WHEN q.owner IS NULL AND (NOT $3::boolean
  OR EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run AND (i.cancel OR i.act IS NOT NULL) AND i.act = 'run_resumed')) THEN q.wake_at END, parked_at = NULL
WHERE q.run = $1::bigint

-- name: ready
-- What a worker could claim, or when. kind 0: the first runs of each class and priority ($1, $2) from a time on ($3);
-- 1: the first tasks of each step, priority and workflow, those known ($5 to $8) from a time on and, where $10, all of
-- the steps in $11; 2: runs that mail makes runnable (a cancel for all who ask, unless the run's code is needed and a
-- worker has it), since the first that made them so, among those in $12 and, where $10, all; 3: where $14, the workers.
-- Runs in $12 ($13: of these classes) are among 0 and 1 whatever their times. 5: where $15, that there is news of
-- limits, and 6: when the first key of a rate is to be looked at. The last row, kind 4, is the clock. holds: of a run, whether it has all the places that it needs; null: it
-- needs none, or its code is not to run. Indexes queue_ready, tasks_ready, tasks_run, inbox_run, inbox_acts, runs_id,
-- queue_owner, tasks_held, limit_keys_due.
WITH RECURSIVE clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
found (step, priority, workflow) AS (
  SELECT s.step, p.priority, (SELECT t.workflow FROM {schema}.tasks t WHERE t.name = s.step AND t.priority = p.priority AND t.worker IS NULL ORDER BY t.workflow LIMIT 1)
  FROM unnest($11::text[]) s(step), unnest('{0,1,2,3}'::smallint[]) p(priority) WHERE $10::boolean
  UNION ALL
  SELECT f.step, f.priority, (SELECT t.workflow FROM {schema}.tasks t
    WHERE t.name = f.step AND t.priority = f.priority AND t.worker IS NULL AND t.workflow > f.workflow ORDER BY t.workflow LIMIT 1)
  FROM found f WHERE f.workflow IS NOT NULL),
mailed (run) AS (
  (SELECT i.run FROM {schema}.inbox i WHERE $10::boolean AND $4::integer > 0 ORDER BY i.run LIMIT 1)
  UNION ALL
  SELECT (SELECT i.run FROM {schema}.inbox i WHERE i.run > m.run ORDER BY i.run LIMIT 1) FROM mailed m WHERE m.run IS NOT NULL),
named AS MATERIALIZED (SELECT r.key AS run FROM {schema}.runs r WHERE r.ns = 0 AND r.id = ANY($12::text[]))
SELECT 0::smallint AS kind, r.run AS key, l.class, l.priority, r.ready_at AS due, NULL::text AS step, NULL::text AS workflow, NULL::text AS id,
  NULL::integer AS attempt, NULL::integer AS failures, NULL::integer AS abandoned, NULL::text AS history, r.whole AS holds, NULL::text AS ended
FROM unnest($1::integer[], $2::smallint[], $3::timestamptz[]) l(class, priority, low)
CROSS JOIN LATERAL (SELECT q.run, q.ready_at, q.has >= cardinality(q.places) AS whole FROM {schema}.queue q
  WHERE q.class = l.class AND q.priority = l.priority AND q.ready_at >= l.low ORDER BY q.ready_at LIMIT $4::integer + 1) r
UNION ALL
SELECT 0, q.run, q.class, q.priority, q.ready_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL, q.has >= cardinality(q.places), NULL
FROM named n JOIN {schema}.queue q ON q.run = n.run WHERE q.ready_at IS NOT NULL AND q.class = ANY($13::integer[]) AND $4::integer > 0 AND NOT $10::boolean
UNION ALL
SELECT 1, t.key, 0, l.priority, t.visible_at, l.step, l.workflow, t.step, t.attempt, t.failures, t.abandoned, t.history, NULL, NULL
FROM (SELECT * FROM unnest($5::text[], $6::smallint[], $7::text[], $8::timestamptz[]) k(step, priority, workflow, low)
  UNION ALL SELECT f.step, f.priority, f.workflow, '-infinity' FROM found f WHERE f.workflow IS NOT NULL) l(step, priority, workflow, low)
CROSS JOIN LATERAL (SELECT t.key, t.visible_at, t.step, t.attempt, t.failures, t.abandoned, t.history FROM {schema}.tasks t
  WHERE t.name = l.step AND t.priority = l.priority AND t.workflow = l.workflow AND t.worker IS NULL AND t.visible_at >= l.low
  ORDER BY t.visible_at LIMIT $9::integer + 1) t
UNION ALL
SELECT 1, t.key, 0, t.priority, t.visible_at, t.name, t.workflow, t.step, t.attempt, t.failures, t.abandoned, t.history, NULL, NULL
FROM named n JOIN {schema}.tasks t ON t.run = n.run WHERE t.worker IS NULL AND t.name = ANY($11::text[]) AND NOT $10::boolean
UNION ALL
(SELECT 2, q.run, q.class, q.priority, least(a.asked, CASE WHEN NOT q.paused OR a.resumed THEN q.wake_at END,
    CASE WHEN q.running AND q.blocked IS NULL AND (NOT q.paused OR a.resumed)
      THEN (SELECT min(x.arrived_at) FROM (SELECT i.arrived_at FROM {schema}.inbox i WHERE i.run = q.run LIMIT 20) x) END),
  NULL, NULL, NULL, NULL, NULL, NULL, NULL, CASE WHEN a.asked IS NULL OR q.running AND q.blocked IS NULL AND q.class = ANY($13::integer[]) THEN q.has >= cardinality(q.places) END, NULL
FROM (SELECT run FROM mailed UNION ALL SELECT run FROM named) m
JOIN {schema}.queue q ON q.run = m.run AND q.owner IS NULL
CROSS JOIN LATERAL (SELECT min(i.arrived_at) FILTER (WHERE i.cancel) AS asked, coalesce(bool_or(i.act = 'run_resumed'), false) AS resumed
  FROM {schema}.inbox i WHERE i.run = q.run AND (i.cancel OR i.act IS NOT NULL)) a
WHERE $4::integer > 0 AND (a.asked IS NOT NULL AND (abs(q.class) = ANY($13::integer[]) OR NOT q.running OR q.blocked IS NOT NULL OR NOT EXISTS (
    SELECT FROM {schema}.classes c CROSS JOIN {schema}.workers w WHERE c.key = abs(q.class) AND w.ended IS NULL
      AND {schema}.readable(w.classes)::jsonb @> jsonb_build_array(jsonb_build_object('workflow', c.workflow, 'version', c.version)) OFFSET 0))
  OR q.class = ANY($13::integer[]) AND (NOT q.paused OR a.resumed)
    AND (q.running AND q.blocked IS NULL AND EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run OFFSET 0)
      OR q.paused AND q.wake_at <= (SELECT now FROM clock)))
  AND (q.parked_at IS NULL OR a.asked IS NOT NULL AND (NOT q.running OR q.blocked IS NOT NULL OR NOT q.class = ANY($13::integer[])))
LIMIT greatest($4::integer + 1, 1000))
UNION ALL
SELECT 3, w.key, 0, 0, w.until, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  EXISTS (SELECT 1 FROM {schema}.queue q WHERE q.owner = w.key) OR EXISTS (SELECT 1 FROM {schema}.tasks t WHERE t.worker = w.key), w.ended
FROM {schema}.workers w WHERE $14::boolean
UNION ALL
SELECT 5, 0, 0, 0, now, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM clock WHERE $15::boolean AND EXISTS (SELECT 1 FROM {schema}.limit_news OFFSET 0)
UNION ALL
(SELECT 6, 0, 0, 0, k.due, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM {schema}.limit_keys k WHERE $15::boolean AND k.due IS NOT NULL ORDER BY k.due LIMIT 1)
UNION ALL
SELECT 4, 0, 0, 0, now, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM clock

-- name: name_ready
-- The IDs of runs ($1), and of the runs of tasks ($2). By key.
SELECT 0::smallint, r.key, r.id, NULL::text, NULL::text FROM {schema}.runs r WHERE r.key = ANY($1::bigint[])
UNION ALL
SELECT 1, t.key, r.id, t.step, t.name FROM {schema}.tasks t JOIN {schema}.runs r ON r.key = t.run WHERE t.key = ANY($2::bigint[])

-- name: claim_runs
-- A worker claims runs of its classes ($4), those that are ready ($1) and those that mail makes runnable ($2), unless
-- that has changed or somebody holds the row. taken is negative until claimed_runs, which sees what was committed
-- before these locks. One that lacks places is given where its code is not to run. By key; indexes inbox_run,
-- inbox_acts. A fork that is held, see move_held, and is claimed to be cancelled, has begun with that.
WITH mine AS (
  SELECT q.run FROM {schema}.queue q CROSS JOIN LATERAL (SELECT coalesce(q.has >= cardinality(q.places), true) AS yes) whole
  WHERE q.run = ANY($1::bigint[] || $2::bigint[]) AND q.owner IS NULL AND (q.class = ANY($4::integer[]) AND q.run = ANY($1::bigint[]) AND q.ready_at <= clock_timestamp() AND whole.yes
    OR q.class = ANY($4::integer[]) AND q.running AND NOT q.paused AND q.blocked IS NULL AND whole.yes AND EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run OFFSET 0)
    OR EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = q.run AND (i.cancel OR i.act IS NOT NULL) AND (i.cancel OR q.paused AND i.act = 'run_resumed' AND q.class = ANY($4::integer[]))
      AND (whole.yes OR i.cancel AND (NOT q.running OR q.blocked IS NOT NULL OR NOT q.class = ANY($4::integer[]))) OFFSET 0)
    AND (abs(q.class) = ANY($4::integer[]) OR NOT q.running OR q.blocked IS NOT NULL OR NOT EXISTS (
      SELECT FROM {schema}.classes c CROSS JOIN {schema}.workers w WHERE c.key = abs(q.class) AND w.ended IS NULL
        AND {schema}.readable(w.classes)::jsonb @> jsonb_build_array(jsonb_build_object('workflow', c.workflow, 'version', c.version)) OFFSET 0)))
  ORDER BY q.run FOR UPDATE OF q SKIP LOCKED)
UPDATE {schema}.queue q SET class = CASE WHEN q.running THEN abs(q.class) ELSE q.class END, owner = $3, take = least(q.take, 9223372036854775806) + 1, taken = -1 - greatest(q.taken, 0), ready_at = NULL, parked_at = NULL FROM mine WHERE q.run = mine.run

-- name: claimed_runs
-- The runs that claim_runs has just given to a worker, now that nobody else writes their logs; with the log, where that is one row, and no large one ($3).
-- taken stays what it was where the log has lost its end. By key; index log_run.
UPDATE {schema}.queue q SET taken = greatest(l.last, -1 - q.taken, 0)
FROM {schema}.runs r LEFT JOIN LATERAL (
  SELECT least(m.seq, 4611686018427387904) + m.n - 1 AS last, m.seq = 1 AND octet_length(m.body) <= $3 AS short, m.format, m.head, m.body, m.sum
  FROM {schema}.log m WHERE m.run = r.key ORDER BY m.seq DESC LIMIT 1) l ON true
WHERE q.run = ANY($1::bigint[]) AND q.owner = $2 AND q.taken < 0 AND r.key = q.run
RETURNING r.id, r.key, r.created_at, r.retention_ns, r.workflow, q.class, q.running, q.priority, q.take, coalesce(l.last, 0), q.taken, q.paused, q.blocked, q."full", q.wake_at, q.strikes,
  r.attributes IS NULL, r.segment, q.places IS NOT NULL,
  l.format, CASE WHEN l.short THEN l.head END, CASE WHEN l.short THEN l.body END, l.sum,
  r.priority, r.parent_run, r.parent_step, r.detached, r.sealed, r.origin_run, r.sum

-- name: find_only_run
-- One run that is to be claimed by name, and whether the worker that owns it is dead. Indexes runs_id, queue_pkey, workers_pkey.
SELECT clock_timestamp(), q.run, q.class, w.key, w.ended IS NOT NULL OR w.until < clock_timestamp()
FROM {schema}.runs r JOIN {schema}.queue q ON q.run = r.key LEFT JOIN {schema}.workers w ON w.key = q.owner
WHERE r.ns = 0 AND r.id = $1

-- name: lock_claim
-- The fence of a claim, and its last statement: fails by a division by zero unless the worker is alive and no later claim
-- ($3: its number) was made or asked for. By key.
SELECT 1 / count(*) FROM (
  SELECT 1 FROM {schema}.lanes WHERE worker = $1::bigint AND lane = $2::smallint AND alive AND taken < $3::bigint FOR UPDATE) alive

-- name: note_claim
-- The fence of a claim by a worker that several servers may speak for: as lock_claim, and no other server ($4: this one)
-- makes it too. By key.
WITH noted AS (
  UPDATE {schema}.lanes SET taken = $3::bigint, taker = $4::text
  WHERE worker = $1::bigint AND lane = $2::smallint AND alive AND (taken < $3::bigint OR taken = $3::bigint AND taker = $4::text) RETURNING 1)
SELECT 1 / count(*) FROM noted

-- name: fence_claims
-- Waits for a claim of a worker that is about to be committed; none up to a number ($3) is from here on. No row where
-- the worker is not alive. By key.
UPDATE {schema}.lanes SET taken = greatest(taken, $3::bigint) WHERE worker = $1::bigint AND lane = $2::smallint AND alive RETURNING taken

-- name: hold_runs
-- Locks the queue rows of runs whose owners write to streams, in the order of their runs, but for those that others have locked. Indexes runs_id,
-- workers_id_key, queue_pkey.
SELECT a.ord, q.run FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY a(run, worker, take, ord)
JOIN {schema}.runs r ON r.ns = 0 AND r.id = a.run JOIN {schema}.workers w ON w.id = a.worker
JOIN {schema}.queue q ON q.run = r.key AND q.owner = w.key AND q.take = a.take
ORDER BY q.run FOR UPDATE OF q SKIP LOCKED

-- name: writer_holds
-- Whether a worker owns a run under a claim, or, where a step is named, holds its task as an attempt. Indexes runs_id, workers_id_key, queue_pkey,
-- tasks_run.
SELECT 1 FROM {schema}.runs r JOIN {schema}.workers w ON w.id = $2::text
WHERE r.ns = 0 AND r.id = $1::text AND CASE WHEN $4::text = ''
  THEN EXISTS (SELECT 1 FROM {schema}.queue q WHERE q.run = r.key AND q.owner = w.key AND q.take = $3::bigint)
  ELSE EXISTS (SELECT 1 FROM {schema}.tasks t WHERE t.run = r.key AND t.step = $4::text AND t.worker = w.key AND t.attempt = $3::bigint) END

-- name: return_runs
-- The runs of a worker that is gone come back, due at once; a paused one that it was told to resume and had not is to be claimed for that. Where it died ($2),
-- that is counted against those that got nowhere since it claimed them. A row that somebody holds comes back the next time. Indexes queue_owner, log_run,
-- inbox_acts.
WITH mine AS (SELECT run, paused FROM {schema}.queue WHERE owner = $1 ORDER BY run FOR UPDATE SKIP LOCKED),
known AS (
  SELECT m.run, m.paused, m.paused AND EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = m.run AND (i.cancel OR i.act IS NOT NULL) AND i.act = 'run_resumed' OFFSET 0) AS resumed,
    (SELECT least(l.seq, 4611686018427387904) + l.n - 1 FROM {schema}.log l WHERE l.run = m.run ORDER BY l.seq DESC LIMIT 1) AS last
  FROM mine m),
back AS (
  UPDATE {schema}.queue q SET owner = NULL, wake_at = clock_timestamp(), ready_at = CASE WHEN k.resumed OR NOT k.paused THEN clock_timestamp() END,
    strikes = CASE WHEN $2 AND q.taken = k.last THEN least(q.strikes, 2147483646) + 1 ELSE 0 END
  FROM known k WHERE q.run = k.run RETURNING q.run)
SELECT count(*) FROM back

-- name: account_runs
-- The runs of a worker, each with its claim and the number of its last event. Indexes queue_owner, runs_pkey, log_pkey.
SELECT r.id, q.take, coalesce((SELECT least(l.seq, 4611686018427387904) + l.n - 1 FROM {schema}.log l WHERE l.run = q.run ORDER BY l.seq DESC LIMIT 1), 0)
FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run WHERE q.owner = $1

-- name: put_runs_aside
-- Rows of the queue that were given and are of no run: nobody is given them again; doctor names them. Index queue_owner.
UPDATE {schema}.queue q SET owner = NULL, wake_at = NULL, ready_at = NULL, paused = true, blocked = '{"code":"CORRUPTED_EVENT_LOG","message":"there is no such run"}'
WHERE q.owner IS NOT NULL AND NOT EXISTS (SELECT FROM {schema}.runs r WHERE r.key = q.run)

-- name: give_again
-- Rows of the queue that nobody has and nobody is given, although they are due at a time: somebody changed them by hand. All of the queue, on purpose.
UPDATE {schema}.queue SET ready_at = wake_at WHERE owner IS NULL AND NOT paused AND wake_at IS NOT NULL AND ready_at IS NULL AND parked_at IS NULL
