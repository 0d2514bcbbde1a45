-- What is published, who subscribes, and waits of runs that listen.

-- name: insert_publication
-- Publishes. Its key is behind all that were there; one that somebody wrote by hand, and that leaves no room, counts for nothing.
INSERT INTO publications (key, topic, source, dedupe, at_us, due_us, head, body, sum) VALUES (
  (SELECT max(coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'publications' AND seq < 4611686018427387904), 0), coalesce((SELECT max(key) FROM publications WHERE key < 4611686018427387904), 0)) + 1),
  ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- name: insert_due
-- Notes that a publication is to be spread.
INSERT OR REPLACE INTO due (publication, due_us) VALUES (?1, ?2)

-- name: find_publication
-- What was published under a topic with a delivery ID. Index publications_dedupe.
SELECT key, at_us FROM publications WHERE topic = ?1 AND dedupe = ?2

-- name: due_publications
-- What is to be spread, in order, behind a place. Index due_due.
SELECT p.key, p.topic, p.source, p.at_us, p.due_us, p.head, p.body, p.sum, d.due_us, d.error
FROM due d JOIN publications p ON p.key = d.publication
WHERE d.due_us <= ?1 AND (d.due_us, d.publication) > (?3, ?4) ORDER BY d.due_us, d.publication LIMIT ?2

-- name: next_publication
-- When the next publication is due that is not yet. Index due_due.
SELECT min(due_us) FROM due WHERE due_us > ?1 AND due_us < 9223372036854775807

-- name: is_due
-- Whether a publication is to be spread.
SELECT 1 FROM due d JOIN publications p ON p.key = d.publication WHERE d.publication = ?1 AND d.due_us <= ?2

-- name: delete_due
-- A publication was spread.
DELETE FROM due WHERE publication = ?1

-- name: set_aside
-- A publication goes to nobody.
UPDATE due SET due_us = 9223372036854775807, error = ?2 WHERE publication = ?1

-- name: spreading
-- What subscriptions and the cut come to.
SELECT revision, cut FROM spreading LIMIT 1

-- name: set_spreading
-- Subscriptions or the cut have changed.
UPDATE spreading SET revision = ?1, cut = ?2

-- name: list_subscriptions
-- All subscriptions, by name.
SELECT name, said, sum FROM subscriptions ORDER BY name

-- name: put_subscription
-- Makes a subscription, or says it anew.
INSERT INTO subscriptions (name, said, sum) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE SET said = ?2, sum = ?3

-- name: delete_subscription
-- Ends a subscription.
DELETE FROM subscriptions WHERE name = ?1

-- name: list_publications
-- What was published, the newest first, before one.
SELECT p.key, p.topic, p.source, p.at_us, p.due_us, p.head, p.body, p.sum, d.due_us, d.error
FROM publications p LEFT JOIN due d ON d.publication = p.key WHERE p.key < ?1 ORDER BY p.key DESC LIMIT ?2

-- name: old_publications
-- Publications behind one, in the order in which they were written, as long as they are old; and whether each need not be kept.
SELECT p.key, p.at_us <= ?2, p.due_us <= ?2 AND coalesce(d.due_us = 9223372036854775807, 1)
FROM publications p LEFT JOIN due d ON d.publication = p.key WHERE p.key > ?1 ORDER BY p.key LIMIT ?3

-- name: delete_publication
-- Deletes what was published.
DELETE FROM publications WHERE key = ?1

-- name: insert_listen
-- A wait that listens to what is published.
INSERT INTO listens (run, wait, shape, hash, from_us, last, back, match)
VALUES (?1, ?2, ?3, ?4, ?5, (SELECT coalesce(max(key), 0) FROM publications), ?6, ?7)

-- name: delete_listen
-- A wait that listens no more. Primary key of listens.
DELETE FROM listens WHERE run = ?1 AND wait = ?2

-- name: deaf_runs
-- Runs that are over and have waits that listen.
SELECT DISTINCT run FROM listens l WHERE NOT EXISTS (SELECT 1 FROM queue q WHERE q.run = l.run) LIMIT ?1

-- name: delete_run_listens
-- Of a run that is over, or in a new segment.
DELETE FROM listens WHERE run = ?1

-- name: listen_shapes
-- Each shape once: a probe of listens_hash for each.
WITH RECURSIVE s (shape) AS (
  SELECT min(shape) FROM listens
  UNION ALL
  SELECT (SELECT min(l.shape) FROM listens l WHERE l.shape > s.shape) FROM s WHERE s.shape IS NOT NULL)
SELECT shape FROM s WHERE shape IS NOT NULL

-- name: listeners
-- A page of the waits with a hash. Index listens_hash.
SELECT l.run, r.id, l.wait, l.shape, l.hash, l.from_us, l.last FROM listens l JOIN runs r ON r.key = l.run
WHERE l.shape = ?1 AND l.hash = ?2 AND (l.run, l.wait) > (?3, ?4) ORDER BY l.run, l.wait LIMIT ?5

-- name: looking_back
-- A page of the waits that look back, and have not yet. Index listens_back.
SELECT l.run, r.id, l.wait, l.shape, l.hash, l.from_us, l.last, l.match FROM listens l JOIN runs r ON r.key = l.run
WHERE l.back = 1 AND (l.run, l.wait) > (?1, ?2) ORDER BY l.run, l.wait LIMIT ?3

-- name: looked_back
-- A wait that has looked back. Primary key of listens.
UPDATE listens SET back = 0, match = NULL WHERE run = ?1 AND wait = ?2
