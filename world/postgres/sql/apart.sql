-- Values that are kept apart from logs, as they are too large.

-- name: keep_piece
-- A piece of a value that a run holds and no event names yet; what comes again is the same. With the first the run begins to hold it, unless another
-- does. Primary keys, index apart_value.
WITH begun AS (
  INSERT INTO {schema}.apart (run, value, at, key)
  SELECT $1::text, $2::text, clock_timestamp(), nullif($6::text, '') WHERE $3::integer = 0 AND NOT EXISTS (SELECT 1 FROM {schema}.apart a WHERE a.value = $2)
  ON CONFLICT (run, value) DO NOTHING RETURNING 1),
held AS (SELECT 1 FROM {schema}.apart a WHERE a.run = $1 AND a.value = $2 AND a.at IS NOT NULL FOR KEY SHARE)
INSERT INTO {schema}.apart_pieces (value, number, data, sum)
SELECT $2, $3, $4::bytea, $5::integer WHERE EXISTS (SELECT FROM begun) OR EXISTS (SELECT FROM held)
ON CONFLICT (value, number) DO NOTHING

-- name: hold_apart
-- Events of runs name values: those that they hold, or get of other runs that do, are theirs from now on, and not deleted meanwhile. Primary keys.
INSERT INTO {schema}.apart (run, value, key)
SELECT DISTINCT n.run, n.value, (SELECT max(h.key) FROM {schema}.apart h WHERE h.run IN (n.run, n.holder) AND h.value = n.value) FROM unnest($1::text[], $2::text[], $3::text[]) n(run, value, holder)
WHERE EXISTS (SELECT 1 FROM {schema}.apart h WHERE h.run IN (n.run, n.holder) AND h.value = n.value)
  AND EXISTS (SELECT 1 FROM {schema}.apart_pieces p WHERE p.value = n.value AND p.number = 0 FOR KEY SHARE)
ORDER BY 1, 2
ON CONFLICT (run, value) DO UPDATE SET at = NULL RETURNING run, value

-- name: held_apart
-- Whether a run holds a value. Primary key.
SELECT 1 FROM {schema}.apart WHERE run = $1 AND value = $2

-- name: hold_results
-- Those who wait for runs that are over hold the values that these hold and their results name. Primary keys of awaits, queue and runs.
INSERT INTO {schema}.apart (run, value, key)
SELECT DISTINCT r.id, h.value, h.key FROM unnest($1::bigint[], $2::text[]) n(run, value)
  JOIN {schema}.runs t ON t.key = n.run JOIN {schema}.apart h ON h.run = t.id AND h.value = n.value
  JOIN {schema}.awaits a ON a.target = n.run JOIN {schema}.queue q ON q.run = a.waiter JOIN {schema}.runs r ON r.key = a.waiter
ORDER BY 1, 2
ON CONFLICT (run, value) DO NOTHING

-- name: read_piece
-- A piece of a value that a run holds, and whether it is there. Primary keys.
SELECT p.number IS NOT NULL, p.data, p.sum FROM {schema}.apart a LEFT JOIN {schema}.apart_pieces p ON p.value = a.value AND p.number = $3 WHERE a.run = $1 AND a.value = $2

-- name: sweep_apart
-- Runs are swept: they hold nothing any more. What may be held by nobody now is locked, so that who begins to hold it waits. Primary keys.
WITH gone AS (DELETE FROM {schema}.apart WHERE run = ANY ($1::text[]) RETURNING value)
SELECT p.value FROM {schema}.apart_pieces p WHERE p.number = 0 AND p.value IN (SELECT value FROM gone) ORDER BY p.value FOR UPDATE OF p

-- name: sweep_pieces
-- Values that no run holds any more. Index apart_value, primary key of apart_pieces.
DELETE FROM {schema}.apart_pieces p WHERE p.value = ANY ($1::text[]) AND NOT EXISTS (SELECT 1 FROM {schema}.apart a WHERE a.value = p.value)

-- name: orphan_apart
-- Values that were written for runs that are not there, and which no event names. Index apart_at, index runs_id.
SELECT a.run, a.value FROM {schema}.apart a WHERE a.at < $1 AND NOT EXISTS (SELECT 1 FROM {schema}.runs r WHERE r.ns = 0 AND r.id = a.run)
ORDER BY a.at LIMIT $2

-- name: drop_orphans
-- Of such values those that no event names yet, and whose runs are still not there, are held no more. A birth that names one writes to its row: who is first is
-- waited for, and then at is looked at again. What may be held by nobody now is locked, so that who begins to hold it waits. Primary keys, index runs_id.
WITH gone AS (
  DELETE FROM {schema}.apart a WHERE a.run = ANY ($2::text[]) AND a.value = ANY ($3::text[]) AND a.at < $1
    AND NOT EXISTS (SELECT 1 FROM {schema}.runs r WHERE r.ns = 0 AND r.id = a.run) RETURNING a.value)
SELECT p.value FROM {schema}.apart_pieces p WHERE p.number = 0 AND p.value IN (SELECT value FROM gone) ORDER BY p.value FOR UPDATE OF p

-- name: drop_value
-- A value that no event of its run names is held no more. What may be held by nobody now is locked, so that who begins to hold it waits. Primary keys.
WITH gone AS (DELETE FROM {schema}.apart WHERE run = $1 AND value = $2 AND at IS NOT NULL RETURNING value)
SELECT p.value FROM {schema}.apart_pieces p WHERE p.number = 0 AND p.value IN (SELECT value FROM gone) FOR UPDATE OF p

-- name: value_keys
-- Which keys values that are kept apart are encrypted with, and how many runs hold any. All of apart, on purpose: no piece is read.
SELECT coalesce(key, ''), count(DISTINCT run) FROM {schema}.apart GROUP BY key ORDER BY 1
