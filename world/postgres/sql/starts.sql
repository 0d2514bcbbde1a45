-- Starts of runs: definitions, schedules, singletons, starts that are merged, workflows that are held.

-- name: define
-- What versions of workflows say, and who says it, where that differs. Index definitions_pkey.
INSERT INTO {schema}.definitions (workflow, version, says, schemas, worker)
SELECT n.workflow, n.version, n.says, n.schemas, n.worker
FROM unnest($1::text[], $2::integer[], $3::text[], $4::text[], $5::text[]) AS n (workflow, version, says, schemas, worker)
  LEFT JOIN {schema}.definitions d ON d.workflow = n.workflow AND d.version = n.version
WHERE d.says IS DISTINCT FROM n.says OR n.worker NOT IN ('', d.worker) ORDER BY 1, 2
ON CONFLICT (workflow, version) DO UPDATE SET says = excluded.says, schemas = excluded.schemas, worker = excluded.worker

-- name: defined
-- What starters have to know: what versions of workflows say, who says it and whether that worker is gone; what live workers have (version 0); what operators set (version -1). Indexes definitions_pkey, workers_id_key, queue_owner, tasks_held.
SELECT d.workflow, d.version, d.says, d.worker, d.worker <> '' AND NOT EXISTS (SELECT FROM {schema}.workers w WHERE w.id = d.worker AND {alive})
FROM {schema}.definitions d WHERE d.workflow = ANY($1::text[])
UNION ALL SELECT '', 0, w.classes, '', false FROM (SELECT DISTINCT w.classes FROM {schema}.workers w WHERE {alive}) w
UNION ALL SELECT s.name, -1, s.value::text, '', false FROM {schema}.settings s

-- name: schemas_of
-- The schemas of a version of a workflow. Index definitions_pkey.
SELECT d.schemas FROM {schema}.definitions d WHERE d.workflow = $1 AND d.version = $2

-- name: list_schedules
-- Schedules behind a name, by name.
SELECT name, said, sum, change FROM {schema}.schedules WHERE name > $1 ORDER BY name LIMIT $2::bigint

-- name: list_of_set
-- The schedules of a set of a program, behind a name, by name. Index schedules_set.
SELECT name, said, sum, change FROM {schema}.schedules WHERE of_set = $1 AND name > $2 ORDER BY name LIMIT $3::bigint

-- name: find_schedules
-- Some schedules, by name.
SELECT name, said, sum, change FROM {schema}.schedules WHERE name = ANY ($1::text[]) ORDER BY name LIMIT $2::bigint

-- name: due_schedules
-- What is due of those that need the code of one set. Index schedules_due, and a clock that stands still.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT name, said, sum, change FROM {schema}.schedules
WHERE code = $1 AND due_at <= (SELECT now FROM clock) ORDER BY due_at LIMIT $2::bigint

-- name: next_schedule
-- The time, and when the next schedule is due that is not yet. Index schedules_due.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT now, (SELECT due_at FROM {schema}.schedules WHERE code = $1 AND due_at > (SELECT now FROM clock) ORDER BY due_at LIMIT 1) FROM clock

-- name: make_schedule
-- Makes a schedule; where there is one, nothing.
INSERT INTO {schema}.schedules (name, said, sum, change, code, due_at, of_set) VALUES ($1, $2, $3, $7, $4, $5, $6) ON CONFLICT (name) DO NOTHING

-- name: hold_schedules
-- Keeps what is due from others for a moment, but for what somebody else is at. Index schedules_due.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
d AS MATERIALIZED (
  SELECT name FROM {schema}.schedules WHERE code = $1 AND due_at <= (SELECT now FROM clock) ORDER BY due_at LIMIT $2::bigint FOR UPDATE SKIP LOCKED)
UPDATE {schema}.schedules s SET due_at = (SELECT now FROM clock) + $3::bigint * interval '1 microsecond' FROM d WHERE s.name = d.name
RETURNING s.name, s.said, s.sum, s.change

-- name: change_schedules
-- Changes schedules, in the order of their names, and fails by a division by zero unless each is as it was when it was read. By name.
WITH a AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::text[], $3::integer[], $4::text[], $5::timestamptz[], $6::text[], $7::bigint[]) a(name, said, sum, code, due_at, of_set, change)),
locked AS MATERIALIZED (
  SELECT s.name FROM a JOIN {schema}.schedules s ON s.name = a.name AND s.change = a.change ORDER BY s.name FOR UPDATE OF s),
changed AS (
  UPDATE {schema}.schedules s SET said = a.said, sum = a.sum, change = s.change + 1, code = a.code, due_at = a.due_at, of_set = a.of_set
  FROM a JOIN locked ON locked.name = a.name WHERE s.name = a.name AND s.change = a.change
  RETURNING 1)
SELECT 1 / (count(*) = cardinality($1::text[]))::integer FROM changed

-- name: change_schedule
-- Changes a schedule that is as it was when it was read.
UPDATE {schema}.schedules SET said = $2, sum = $3, change = change + 1, code = $4, due_at = $5, of_set = $6 WHERE name = $1 AND change = $7

-- name: delete_schedule
-- Deletes a schedule.
DELETE FROM {schema}.schedules WHERE name = $1

-- name: live_single
-- The live run that has the key of a singleton. Index queue_single.
SELECT r.id FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run WHERE q.single = $1::text

-- name: free_single
-- A run has the key of its singleton no more: another takes its place. Waits for a stranger who ends it. Index
-- queue_single.
UPDATE {schema}.queue q SET single = NULL FROM {schema}.runs r WHERE q.single = $1::text AND r.key = q.run RETURNING r.id, CASE WHEN q.parked_at IS NOT NULL THEN q.behind END

-- name: set_singles
-- New runs have the keys of their singletons, behind others. By key. A key that a stranger has just taken fails: index queue_single.
UPDATE {schema}.queue q SET single = b.single, behind = b.behind FROM unnest($1::bigint[], $2::text[], $3::text[]) b(run, single, behind) WHERE q.run = b.run

-- name: find_bucket
-- The run that may gather for a workflow and key, and how it stands. Primary key.
SELECT r.id, b.run, b.quiet_ns, b.number, b.until_at, b.items, b.bytes,
  q.owner IS NULL AND NOT q.running AND q.take = 0 AND (q.wake_at > clock_timestamp()) IS TRUE,
  EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = b.run AND i.cancel OFFSET 0)
FROM {schema}.buckets b JOIN {schema}.runs r ON r.key = b.run JOIN {schema}.queue q ON q.run = b.run
WHERE b.workflow = $1::text AND b.name = $2::text

-- name: gathers_no_more
-- Whether a run that has not begun takes no more inputs: it is due, or a cancel waits for it. Keys inbox_run, queue_pkey.
SELECT 1 FROM {schema}.queue q WHERE q.run = $1::bigint
  AND ((q.wake_at > clock_timestamp()) IS NOT TRUE OR EXISTS (SELECT 1 FROM {schema}.inbox i WHERE i.run = $1::bigint AND i.cancel OFFSET 0))

-- name: bucket_of_run
-- Locks what a run has gathered. Before the lock of its queue row, as who opens another does. Index buckets_run.
SELECT quiet_ns, number, until_at, items, bytes FROM {schema}.buckets WHERE run = $1::bigint FOR UPDATE

-- name: open_bucket
-- A run gathers from now on, where no other has for its workflow and key. Waits for a stranger who is about to. Primary key.
INSERT INTO {schema}.buckets (workflow, name, run, quiet_ns, number, until_at, items, bytes)
VALUES ($1::text, $2::text, $3::bigint, $4::bigint, $5::integer, $6::timestamptz, $7::integer, $8::bigint)
ON CONFLICT (workflow, name) DO NOTHING

-- name: lock_bucket
-- Locks who gathers for a workflow and key. Primary key.
SELECT 1 FROM {schema}.buckets WHERE workflow = $1::text AND name = $2::text FOR UPDATE

-- name: move_bucket
-- A run gathers in the place of another; the row is locked. Primary key.
UPDATE {schema}.buckets SET run = $3::bigint, quiet_ns = $4::bigint, number = $5::integer, until_at = $6::timestamptz, items = $7::integer, bytes = $8::bigint
WHERE workflow = $1::text AND name = $2::text

-- name: fill_bucket
-- A run has taken an input; the row is locked. Index buckets_run.
UPDATE {schema}.buckets SET items = $2::integer, bytes = $3::bigint WHERE run = $1::bigint

-- name: drop_bucket
-- A run gathers no more; the row is locked. Index buckets_run.
DELETE FROM {schema}.buckets WHERE run = $1::bigint

-- name: drop_buckets
-- Runs that gather no more, for long. Index buckets_until.
DELETE FROM {schema}.buckets WHERE until_at < clock_timestamp() - interval '1 hour'

-- name: gather_queue
-- A run that gathers has taken an input, and begins at another time ($2). By key; the row is locked.
UPDATE {schema}.queue q SET taken = greatest(q.taken, $3::bigint), wake_at = $2::timestamptz, ready_at = CASE WHEN q.ready_at IS NOT NULL THEN $2::timestamptz END
WHERE q.run = $1::bigint

-- name: note_merged
-- An input that a run was given is known from now on, with the idempotency key of its start. Primary key.
INSERT INTO {schema}.delivered (run, key, sender, marked, workflow, idem) VALUES ($1::bigint, $2::bytea, $3::text, $4::boolean, $5::text, $6::text)

-- name: merged_run
-- The run that has an idempotency key ($2), or was given the input of the start with it. Indexes runs_idem, delivered_idem.
SELECT id FROM {schema}.runs WHERE ns = 0 AND workflow = $1::text AND idem = $2::text
UNION ALL SELECT r.id FROM {schema}.delivered d JOIN {schema}.runs r ON r.key = d.run WHERE d.workflow = $1::text AND d.idem = $2::text AND d.idem IS NOT NULL

-- name: merged_runs
-- A run that has one of several idempotency keys ($2), or was given the input of the start with it. Indexes runs_idem,
-- delivered_idem.
SELECT m.id FROM unnest($2::text[]) k (idem) CROSS JOIN LATERAL (
  SELECT id FROM {schema}.runs WHERE ns = 0 AND workflow = $1::text AND idem = k.idem
  UNION ALL SELECT r.id FROM {schema}.delivered d JOIN {schema}.runs r ON r.key = d.run WHERE d.workflow = $1::text AND d.idem = k.idem AND d.idem IS NOT NULL) m
LIMIT 1

-- name: lock_merged
-- Of those who merge starts with one idempotency key, one at a time, until the end of its transaction; who
-- begins a run with it waits in the function merged.
SELECT pg_advisory_xact_lock(hashtext($n${schema}/merged$n$), hashtext($1::text || '/' || $2::text))

-- name: lock_mergeds
-- As lock_merged, for several keys.
SELECT pg_advisory_xact_lock(hashtext($n${schema}/merged$n$), hashtext($1::text || '/' || k.idem)) FROM (SELECT idem FROM unnest($2::text[]) u (idem) ORDER BY idem) k

-- name: hold_workflow
-- Holds a workflow, or says anew who does and why. By key.
INSERT INTO {schema}.holds (workflow, held_by, note, since, state, changed_at) VALUES ($1::text, $2::text, $3::text, clock_timestamp(), 0, clock_timestamp())
ON CONFLICT (workflow) DO UPDATE SET held_by = excluded.held_by, note = excluded.note, since = excluded.since, state = 0, changed_at = excluded.changed_at

-- name: release_workflow
-- A workflow is held no more. By key.
UPDATE {schema}.holds SET state = 2, changed_at = clock_timestamp() WHERE workflow = $1::text

-- name: lock_holds
-- Who changes what is held, or moves runs for it, does so alone; nobody who reads waits.
LOCK TABLE {schema}.holds IN SHARE UPDATE EXCLUSIVE MODE

-- name: list_holds
-- The workflows that are held: a few.
SELECT workflow, held_by, note, since FROM {schema}.holds WHERE state < 2 ORDER BY workflow

-- name: unsettled_holds
-- What is held or released, with runs that are not moved: a few. For how long it is left to who is at it, which is $1
-- since somebody last went on with it, µs; below 0: no longer.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT h.workflow, greatest($1::bigint - (extract(epoch FROM c.now - greatest(least(h.changed_at, c.now), c.now - interval '1 day')) * 1000000)::bigint, -1)
FROM {schema}.holds h CROSS JOIN clock c WHERE h.state <> 1 ORDER BY h.workflow

-- name: move_on_hold
-- Somebody goes on with a hold or a release. By key.
UPDATE {schema}.holds SET changed_at = clock_timestamp() WHERE workflow = $1::text AND state <> 1 RETURNING state = 0

-- name: end_of_page
-- The last key of a page of the queue, behind $1; none: that is the last page. Its key.
SELECT run FROM {schema}.queue WHERE run > $1::bigint ORDER BY run OFFSET $2::bigint LIMIT 1

-- name: move_held
-- Sets aside runs of a workflow ($3) that have not begun ($4), or brings them back, among some keys. Such a run's class has a minus sign, and no worker
-- asks for it. It stands in no line of a limit, and gives back the places that it has: it asks for them where it is claimed.
-- A fork or a retry is running from its birth on, and has not begun while nobody has claimed it. By key.
WITH mine AS MATERIALIZED (
  SELECT q.run, q.places, q.has FROM {schema}.queue q WHERE q.run > $1::bigint AND q.run <= $2::bigint
    AND abs(q.class) = ANY (ARRAY(SELECT c.key FROM {schema}.classes c WHERE c.workflow = $3::text))
    AND CASE WHEN $4::boolean THEN q.class > 0 AND (NOT q.running OR q.take = 0) AND q.owner IS NULL ELSE q.class < 0 END
  ORDER BY q.run FOR UPDATE),
freed AS (INSERT INTO {schema}.limit_news (key, kind) SELECT m.places[i], 0 FROM mine m CROSS JOIN generate_series(1, m.has) i WHERE m.places[i] IS NOT NULL)
UPDATE {schema}.queue q SET class = -q.class, has = CASE WHEN q.has > 0 THEN 0 ELSE q.has END, parked_at = NULL,
  ready_at = CASE WHEN q.parked_at IS NULL THEN q.ready_at ELSE q.wake_at END
FROM mine WHERE q.run = mine.run

-- name: settle_hold
-- All runs of a workflow are moved that was held or released. By key.
WITH held AS (UPDATE {schema}.holds SET state = 1 WHERE workflow = $1::text AND state = 0)
DELETE FROM {schema}.holds WHERE workflow = $1::text AND state = 2

-- name: insert_lapses
-- Runs are to begin by times.
INSERT INTO {schema}.lapses (due_at, run, ttl) SELECT * FROM unnest($1::timestamptz[], $2::bigint[], $3::bigint[])

-- name: due_lapses
-- Runs that are to have begun by now, but for what somebody else is at, $1 at most; nobody else is told of them for a while ($2). What has begun, or is over,
-- goes, and has no ID here; one that is made of another begins when it is claimed. The last row, with no key, says when the next one is, behind those, a day at most. Keys of lapses, queue and runs.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
d AS MATERIALIZED (
  SELECT l.due_at, l.run FROM {schema}.lapses l WHERE l.due_at <= (SELECT now FROM clock) ORDER BY l.due_at, l.run LIMIT $1::bigint FOR UPDATE SKIP LOCKED),
waits AS MATERIALIZED (SELECT d.due_at, d.run FROM d JOIN {schema}.queue q ON q.run = d.run AND (NOT q.running OR q.take = 0)),
gone AS (DELETE FROM {schema}.lapses l USING d WHERE l.due_at = d.due_at AND l.run = d.run AND NOT EXISTS (SELECT FROM waits w WHERE w.run = d.run)),
again AS (
  UPDATE {schema}.lapses l SET due_at = (SELECT now FROM clock) + $2::bigint * interval '1 microsecond' FROM waits w WHERE l.due_at = w.due_at AND l.run = w.run
  RETURNING l.run, l.ttl)
SELECT d.run, r.id, a.ttl, NULL::bigint FROM d LEFT JOIN again a ON a.run = d.run LEFT JOIN {schema}.runs r ON r.key = a.run
UNION ALL
SELECT NULL, NULL, NULL, (extract(epoch FROM (SELECT least(l.due_at, now + interval '1 day') FROM {schema}.lapses l WHERE l.due_at > now ORDER BY l.due_at LIMIT 1) - now) * 1000000)::bigint FROM clock
