-- Values that are too large for a log, in pieces.

-- name: keep_piece
-- A piece of a value that a run holds and no event names yet; what comes again is the same. By key.
INSERT INTO apart_pieces (value, number, data, sum) SELECT ?2, ?3, ?4, ?5
WHERE EXISTS (SELECT 1 FROM apart WHERE run = ?1 AND value = ?2 AND at_us IS NOT NULL)
ON CONFLICT (value, number) DO NOTHING

-- name: keep_apart
-- A run holds a value that no event names yet, and nobody else holds. Index apart_value.
INSERT INTO apart (run, value, at_us, key) SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM apart WHERE value = ?2)

-- name: hold_apart
-- An event of a run names a value, which it holds, or gets of another run that does. By key.
INSERT INTO apart (run, value, key) SELECT ?1, ?2, max(key) FROM apart WHERE run IN (?1, ?3) AND value = ?2 HAVING count(*) > 0
ON CONFLICT (run, value) DO UPDATE SET at_us = NULL

-- name: held_apart
-- Whether a run holds a value. By key.
SELECT 1 FROM apart WHERE run = ?1 AND value = ?2

-- name: read_piece
-- A piece of a value that a run holds, and whether it is there. By key.
SELECT p.number IS NOT NULL, p.data, p.sum FROM apart a LEFT JOIN apart_pieces p ON p.value = a.value AND p.number = ?3 WHERE a.run = ?1 AND a.value = ?2

-- name: orphan_apart
-- Values that were written for runs that are not there, and which no event names. Index apart_at.
DELETE FROM apart WHERE (run, value) IN (
  SELECT a.run, a.value FROM apart a WHERE a.at_us IS NOT NULL AND a.at_us < ?1 AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.ns = 0 AND r.id = a.run)
  ORDER BY a.at_us LIMIT ?2)

-- name: drop_value
-- A value that no event of its run names. By key.
DELETE FROM apart WHERE run = ?1 AND value = ?2 AND at_us IS NOT NULL

-- name: value_keys
-- Which keys values that are kept apart are encrypted with, and how many runs hold any. All of apart, on purpose: no piece is read.
SELECT key, count(DISTINCT run) FROM apart GROUP BY key ORDER BY key
