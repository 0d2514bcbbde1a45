-- How runs start: workflows that are held, starts that lapse, singletons, and inputs that are gathered.

-- name: hold_workflow
-- Holds a workflow, or says anew who does and why. By key.
INSERT INTO holds (workflow, held_by, note, since_us, state, changed_us) VALUES (?1, ?2, ?3, ?4, 0, ?4)
ON CONFLICT (workflow) DO UPDATE SET held_by = ?2, note = ?3, since_us = ?4, state = 0, changed_us = ?4

-- name: release_workflow
-- A workflow is held no more. By key.
UPDATE holds SET state = 2, changed_us = ?2 WHERE workflow = ?1

-- name: list_holds
-- The workflows that are held: a few.
SELECT workflow, held_by, note, since_us FROM holds WHERE state < 2 ORDER BY workflow

-- name: unsettled_holds
-- What is held or released, with runs that are not moved, and when somebody last went on with it: a few.
SELECT workflow, changed_us FROM holds WHERE state <> 1 ORDER BY workflow

-- name: move_on_hold
-- What somebody goes on with: whether it is held. By key.
UPDATE holds SET changed_us = ?2 WHERE workflow = ?1 AND state <> 1 RETURNING state = 0

-- name: end_of_page
-- The last key of a page of the queue, behind ?1; none: that is the last page. Its key.
SELECT run FROM queue WHERE run > ?1 ORDER BY run LIMIT 1 OFFSET ?2

-- name: move_held
-- Marks runs of a workflow (?3) that have not begun (?4), or ends that, among some keys. A fork or a retry is running from its birth on, and
-- has not begun while nobody has claimed it. By key.
UPDATE queue SET held = ?4 WHERE run > ?1 AND run <= ?2 AND class IN (SELECT key FROM classes WHERE workflow = ?3)
  AND CASE WHEN ?4 THEN NOT held AND (NOT running OR take = 0) AND owner IS NULL ELSE held END

-- name: held_places
-- Runs among some keys that are marked as held, and hold places of limits or stand in a line. By key.
SELECT r.id FROM queue q CROSS JOIN runs r ON r.key = q.run WHERE q.run > ?1 AND q.run <= ?2 AND q.held AND q.places IS NOT NULL AND (q.has > 0 OR q.parked_us IS NOT NULL)

-- name: held_now
-- All runs of a workflow are marked that is held. By key.
UPDATE holds SET state = 1 WHERE workflow = ?1

-- name: released_now
-- No run of a workflow is marked any more that was released. By key.
DELETE FROM holds WHERE workflow = ?1

-- name: insert_lapse
-- A run is to begin by a time, or is looked at again then. By key.
INSERT OR REPLACE INTO lapses (due_us, run, ttl) VALUES (?1, ?2, ?3)

-- name: next_lapse
-- When the first run is to have begun. By key.
SELECT due_us FROM lapses ORDER BY due_us LIMIT 1

-- name: due_lapses
-- Runs that are to have begun by ?1; no ID: it has begun, or is over. One that is made of another begins when it is claimed. By key.
SELECT l.due_us, l.run, l.ttl, r.id FROM lapses l LEFT JOIN queue q ON q.run = l.run AND (NOT q.running OR q.take = 0) LEFT JOIN runs r ON r.key = q.run
WHERE l.due_us <= ?1 ORDER BY l.due_us, l.run LIMIT ?2

-- name: drop_lapse
-- By key.
DELETE FROM lapses WHERE due_us = ?1 AND run = ?2

-- name: live_single
-- The live run that has the key of a singleton. Index queue_single.
SELECT r.id FROM queue q JOIN runs r ON r.key = q.run WHERE q.single = ?1

-- name: free_single
-- A run has the key of its singleton no more: another takes its place. Index queue_single.
UPDATE queue SET single = NULL WHERE single = ?1
RETURNING CASE WHEN parked_us IS NOT NULL THEN behind END

-- name: set_single
-- A new run has the key of its singleton, behind another. By key.
UPDATE queue SET single = ?2, behind = ?3 WHERE run = ?1

-- name: find_bucket
-- The run that may gather for a workflow and key. Primary key.
SELECT r.id, b.quiet_ns, b.number, b.until_us, b.items, b.bytes FROM buckets b JOIN runs r ON r.key = b.run WHERE b.workflow = ?1 AND b.name = ?2

-- name: bucket_of_run
-- What a run has gathered. Index buckets_run.
SELECT '', quiet_ns, number, until_us, items, bytes FROM buckets WHERE run = ?1

-- name: put_bucket
-- A run gathers from now on, in the place of any other. Primary key.
INSERT INTO buckets (workflow, name, run, quiet_ns, number, until_us, items, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
ON CONFLICT (workflow, name) DO UPDATE SET run = excluded.run, quiet_ns = excluded.quiet_ns, number = excluded.number, until_us = excluded.until_us,
  items = excluded.items, bytes = excluded.bytes

-- name: fill_bucket
-- A run has taken an input. Index buckets_run.
UPDATE buckets SET items = ?2, bytes = ?3 WHERE run = ?1

-- name: drop_bucket
-- A run gathers no more. Index buckets_run.
DELETE FROM buckets WHERE run = ?1

-- name: drop_buckets
-- Runs that gather no more, for long. Index buckets_until.
DELETE FROM buckets WHERE until_us < ?1

-- name: has_buckets
-- Whether a run gathers no more for long. Index buckets_until.
SELECT 1 FROM buckets WHERE until_us < ?1 LIMIT 1

-- name: gather_queue
-- A run that gathers has taken an input, and begins at another time. By key.
UPDATE queue SET wake_us = ?2, taken = max(taken, ?3) WHERE run = ?1

-- name: note_merged
-- An input that a run was given has the idempotency key of its start. Primary key.
UPDATE delivered SET workflow = ?3, idem = ?4 WHERE run = ?1 AND key = ?2
