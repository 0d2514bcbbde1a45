-- Queues of messages that programs use with no run.

-- name: declare_queue
-- Makes a queue, or says anew what holds for it; ?4 null: its limits stay. One that never had any has none.
INSERT INTO queues (name, visibility_ns, max_receives, limits) VALUES (?1, ?2, ?3, nullif(?4, '[]'))
ON CONFLICT (name) DO UPDATE SET visibility_ns = ?2, max_receives = ?3, limits = CASE WHEN ?4 = '[]' AND limits IS NULL THEN NULL ELSE coalesce(?4, limits) END

-- name: pause_queue
-- Pauses a queue, or ends that: null.
UPDATE queues SET paused = ?2 WHERE name = ?1

-- name: drop_queue
-- Deletes a queue.
DELETE FROM queues WHERE key = ?1

-- name: drop_dedupes
-- Forgets the dedupe IDs of a queue.
DELETE FROM dedupes WHERE queue = ?1

-- name: queue_by_name
-- A queue.
SELECT key, name, visibility_ns, max_receives, paused, limits FROM queues WHERE name = ?1

-- name: list_queues
-- All queues.
SELECT key, name, visibility_ns, max_receives, paused, limits FROM queues ORDER BY name

-- name: count_messages
-- The messages of a queue by state, each up to ?3: ready and since when, delayed, out, parked, dead.
SELECT
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE queue = ?1 AND ready_us <= ?2 LIMIT ?3)),
  (SELECT min(ready_us) FROM messages WHERE queue = ?1 AND ready_us <= ?2),
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE queue = ?1 AND ready_us > ?2 AND NOT held LIMIT ?3)),
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE queue = ?1 AND ready_us > ?2 AND held LIMIT ?3)),
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE queue = ?1 AND dead = 0 AND ready_us IS NULL LIMIT ?3)),
  (SELECT count(*) FROM (SELECT 1 FROM messages WHERE queue = ?1 AND dead = 1 LIMIT ?3))

-- name: find_dedupe
-- The message that was sent with a dedupe ID, within its window.
SELECT message FROM dedupes WHERE queue = ?1 AND id = ?2 AND until_us > ?3

-- name: put_dedupe
-- Notes the message that was sent with a dedupe ID.
INSERT INTO dedupes (queue, id, message, until_us) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (queue, id) DO UPDATE SET message = ?3, until_us = ?4

-- name: forget_dedupes
-- Forgets dedupe IDs whose window is over. Index dedupes_until.
DELETE FROM dedupes WHERE until_us <= ?1

-- name: insert_message
-- One of a group waits where another is before it. Its key is behind all that were there; null: the first. One that somebody wrote by hand, and that leaves no room, counts for nothing.
INSERT INTO messages (key, queue, grp, priority, ready_us, sent_us) VALUES (
  (SELECT max(s.seq, coalesce((SELECT max(key) FROM messages WHERE key < 4611686018427387904), 0)) + 1 FROM sqlite_sequence s WHERE s.name = 'messages'), ?1, ?2, ?3,
  CASE WHEN ?2 IS NOT NULL AND EXISTS (SELECT 1 FROM messages WHERE queue = ?1 AND grp = ?2 AND NOT dead) THEN NULL ELSE ?4 END, ?5)

-- name: insert_body
-- What a message carries. What has its key, and is of no message, is of none that will come.
INSERT OR REPLACE INTO message_bodies (key, head, body, sum) VALUES (?1, ?2, ?3, ?4)

-- name: ready_messages
-- The first messages of a priority that can be received. Index messages_ready.
SELECT m.key, m.grp, m.priority, m.ready_us, m.receives, m.fence, m.held, m.dead, m.sent_us, m.error, b.head, b.body, b.sum, m.places IS NOT NULL
FROM messages m LEFT JOIN message_bodies b ON b.key = m.key
WHERE m.queue = ?1 AND m.priority = ?2 AND m.ready_us <= ?3 ORDER BY m.ready_us, m.key LIMIT ?4

-- name: list_messages
-- Messages of a queue in order, behind one: all, or from ?2 on dead ones. Index messages_queue.
SELECT m.key, m.grp, m.priority, m.ready_us, m.receives, m.fence, m.held, m.dead, m.sent_us, m.error, b.head, b.body, b.sum, m.places IS NOT NULL
FROM messages m LEFT JOIN message_bodies b ON b.key = m.key
WHERE m.queue = ?1 AND m.dead >= ?2 AND m.key > ?3 ORDER BY m.key LIMIT ?4

-- name: next_message
-- When the next message of a queue can be received. Index messages_ready.
SELECT min(r) FROM (
  SELECT min(ready_us) AS r FROM messages WHERE queue = ?1 AND priority = 0 AND ready_us IS NOT NULL
  UNION ALL SELECT min(ready_us) FROM messages WHERE queue = ?1 AND priority = 1 AND ready_us IS NOT NULL
  UNION ALL SELECT min(ready_us) FROM messages WHERE queue = ?1 AND priority = 2 AND ready_us IS NOT NULL
  UNION ALL SELECT min(ready_us) FROM messages WHERE queue = ?1 AND priority = 3 AND ready_us IS NOT NULL)

-- name: receive_message
-- Receives a message.
UPDATE messages SET ready_us = ?2, receives = receives + 1, fence = fence + 1, held = 1, error = NULL WHERE key = ?1

-- name: held_message
-- A message whose receipt holds.
SELECT m.queue, m.grp, q.name, m.places IS NOT NULL FROM messages m JOIN queues q ON q.key = m.queue WHERE m.key = ?1 AND m.fence = ?2 AND m.held

-- name: return_message
-- Gives a message back, or extends its receive.
UPDATE messages SET ready_us = ?2, held = ?3, receives = receives - ?4, error = coalesce(?5, error) WHERE key = ?1

-- name: bury_message
-- Makes a message a dead letter.
UPDATE messages SET ready_us = NULL, held = 0, dead = 1, error = coalesce(?2, error) WHERE key = ?1

-- name: delete_message
-- Deletes a message.
DELETE FROM messages WHERE key = ?1

-- name: delete_body
-- Deletes what a message carries.
DELETE FROM message_bodies WHERE key = ?1

-- name: promote_message
-- The first of a group can be received, where none could.
UPDATE messages SET ready_us = ?3 WHERE key = (SELECT min(key) FROM messages WHERE queue = ?1 AND grp = ?2 AND NOT dead) AND ready_us IS NULL AND parked_us IS NULL
  AND NOT EXISTS (SELECT 1 FROM messages WHERE queue = ?1 AND grp = ?2 AND NOT dead AND (ready_us IS NOT NULL OR parked_us IS NOT NULL))

-- name: park_message
-- The one of a group that could be received waits, unless it is out or the first.
UPDATE messages SET ready_us = NULL WHERE queue = ?1 AND grp = ?2 AND NOT dead AND ready_us IS NOT NULL AND NOT held AND key > ?3

-- name: revive_message
-- Makes a dead letter a message that was never received.
UPDATE messages SET ready_us = CASE WHEN grp IS NULL THEN ?2 END, receives = 0, dead = 0 WHERE key = ?1 AND dead = 1
