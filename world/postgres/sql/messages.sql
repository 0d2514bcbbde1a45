-- Queues of messages.

-- name: declare_queue
-- Makes a queue, or says anew what holds for it; $4 null: its limits stay. One that never had any has none.
INSERT INTO {schema}.queues AS q (name, visibility_ns, max_receives, limits) VALUES ($1, $2, $3, nullif($4, '[]'))
ON CONFLICT (name) DO UPDATE SET visibility_ns = $2, max_receives = $3, limits = CASE WHEN $4 = '[]' AND q.limits IS NULL THEN NULL ELSE coalesce($4, q.limits) END

-- name: pause_queue
-- Pauses a queue, or ends that: null.
UPDATE {schema}.queues SET paused = $2 WHERE name = $1

-- name: drop_queue
-- A queue with messages stays.
WITH gone AS (
  DELETE FROM {schema}.queues q WHERE q.name = $1 AND NOT EXISTS (SELECT FROM {schema}.messages m WHERE m.queue = q.key) RETURNING q.key)
DELETE FROM {schema}.dedupes d USING gone WHERE d.queue = gone.key

-- name: list_queues
-- Queues by name; null: all.
SELECT key, name, visibility_ns, max_receives, paused, limits FROM {schema}.queues WHERE $1::text[] IS NULL OR name = ANY($1) ORDER BY name

-- name: count_messages
-- The messages of a queue by state, each up to $2: ready and since when, delayed, out, parked, dead.
-- Indexes messages_ready, messages_heads, messages_parked.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now)
SELECT
  (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND grp IS NULL AND visible_at < 'infinity' AND visible_at <= (SELECT now FROM clock) LIMIT $2) x)
  + (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND grp IS NOT NULL AND visible_at < 'infinity' AND visible_at <= (SELECT now FROM clock) LIMIT $2) x),
  (SELECT min(visible_at) FROM {schema}.messages WHERE queue = $1 AND visible_at < 'infinity' AND visible_at <= (SELECT now FROM clock)),
  (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND visible_at < 'infinity' AND visible_at > (SELECT now FROM clock) AND NOT held LIMIT $2) x),
  (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND visible_at < 'infinity' AND visible_at > (SELECT now FROM clock) AND held LIMIT $2) x),
  (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND visible_at = 'infinity' AND NOT dead LIMIT $2) x),
  (SELECT count(*) FROM (SELECT FROM {schema}.messages WHERE queue = $1 AND visible_at = 'infinity' AND dead LIMIT $2) x)

-- name: lock_messages
-- Nobody sends until this transaction ends, and what was being sent is there.
LOCK TABLE {schema}.messages IN SHARE ROW EXCLUSIVE MODE

-- name: queue_keys
-- The keys of queues.
SELECT name, key FROM {schema}.queues WHERE name = ANY($1::text[])

-- name: queue_names
-- The names of queues.
SELECT key, name FROM {schema}.queues WHERE key = ANY($1::integer[])

-- name: list_messages
-- Messages of a queue in order, behind one.
SELECT m.key, m.grp, m.priority, m.visible_at, m.receives, m.fence, m.held, m.dead, m.sent_at, m.error, m.head, m.body, m.sum, clock_timestamp()
FROM {schema}.messages m WHERE m.queue = (SELECT key FROM {schema}.queues WHERE name = $1) AND m.key > $2 ORDER BY m.key LIMIT $3::bigint

-- name: list_dead_messages
-- Index messages_parked.
SELECT m.key, m.grp, m.priority, m.visible_at, m.receives, m.fence, m.held, m.dead, m.sent_at, m.error, m.head, m.body, m.sum, clock_timestamp()
FROM {schema}.messages m WHERE m.queue = (SELECT key FROM {schema}.queues WHERE name = $1) AND m.visible_at = 'infinity' AND m.dead AND m.key > $2 ORDER BY m.key LIMIT $3::bigint

-- name: message_keys
-- Messages of a queue to be purged or moved back: all, or dead letters; of these alone, null: of all.
SELECT m.key FROM {schema}.messages m WHERE m.queue = $1 AND (m.dead OR NOT $2::boolean) AND ($3::bigint[] IS NULL OR m.key = ANY($3)) ORDER BY m.key LIMIT $4::bigint

-- name: delete_messages
-- Deletes messages, or those of them that are dead, locked in order.
DELETE FROM {schema}.messages WHERE key IN (SELECT m.key FROM {schema}.messages m WHERE m.key = ANY($1::bigint[]) AND (m.dead OR NOT $2::boolean) ORDER BY m.key FOR UPDATE)

-- name: revive_messages
-- Makes dead letters messages that were never received, locked in order.
UPDATE {schema}.messages SET dead = false, receives = 0, visible_at = clock_timestamp()
WHERE key IN (SELECT m.key FROM {schema}.messages m WHERE m.key = ANY($1::bigint[]) AND m.dead ORDER BY m.key FOR UPDATE)

-- name: send_messages
-- Messages, in order, all or none: none where a queue is not there. Each tells its key and when it was sent.
WITH a AS MATERIALIZED (
  SELECT q.key AS queue, q.limits, u.keys, u.grp, u.priority, u.delay, u.head, u.body, u.sum, u.i
  FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[], $5::text[], $6::bytea[], $7::integer[], $8::text[])
    WITH ORDINALITY u(queue, grp, priority, delay, head, body, sum, keys, i) LEFT JOIN {schema}.queues q ON q.name = u.queue)
INSERT INTO {schema}.messages (queue, grp, priority, visible_at, head, body, sum, places)
SELECT a.queue, a.grp, a.priority, clock_timestamp() + a.delay * interval '1 microsecond', a.head, a.body, a.sum,
  CASE WHEN a.limits IS NOT NULL THEN {schema}.message_places(a.limits, a.body, a.keys) END
FROM a WHERE NOT EXISTS (SELECT FROM a x WHERE x.queue IS NULL) ORDER BY a.i
RETURNING key, sent_at

-- name: put_dedupe
-- No row: the ID is known; the next statement reads of which message. It may wait for another transaction that sends with the same ID.
INSERT INTO {schema}.dedupes (queue, id, message, until) VALUES ($1, $2, '', clock_timestamp() + $3::bigint * interval '1 microsecond')
ON CONFLICT (queue, id) DO UPDATE SET message = '', until = clock_timestamp() + $3::bigint * interval '1 microsecond' WHERE dedupes.until <= clock_timestamp()
RETURNING queue

-- name: find_dedupe
-- The message that was sent with a dedupe ID.
SELECT message FROM {schema}.dedupes WHERE queue = $1 AND id = $2

-- name: note_dedupe
-- Notes the message that was sent with a dedupe ID.
UPDATE {schema}.dedupes SET message = $3 WHERE queue = $1 AND id = $2

-- name: ack_messages
-- Deletes messages whose receipt holds. Locked in order, so that those who settle the same ones wait, and that is all.
WITH l AS MATERIALIZED (
  SELECT m.key, a.i FROM {schema}.messages m JOIN unnest($1::bigint[], $2::integer[]) WITH ORDINALITY a(key, fence, i) ON m.key = a.key AND m.fence = a.fence
  WHERE m.held ORDER BY m.key FOR UPDATE OF m)
DELETE FROM {schema}.messages m USING l WHERE m.key = l.key RETURNING l.i, m.queue, m.grp IS NOT NULL OR m.places IS NOT NULL

-- name: ack_plain_messages
-- Deletes messages without a group, and without limits, whose receipt holds, but for those that others have locked; ack_messages says of the rest what became of it. It waits for nobody.
WITH l AS MATERIALIZED (
  SELECT m.key, a.i FROM {schema}.messages m JOIN unnest($1::bigint[], $2::integer[]) WITH ORDINALITY a(key, fence, i) ON m.key = a.key AND m.fence = a.fence
  WHERE m.held AND m.grp IS NULL AND m.places IS NULL FOR UPDATE OF m SKIP LOCKED)
DELETE FROM {schema}.messages m USING l WHERE m.key = l.key RETURNING l.i

-- name: return_messages
-- Gives back messages whose receipt holds, or extends the receive ($4), or makes them dead letters ($5). $6: the receive does not count.
WITH l AS MATERIALIZED (
  SELECT m.key, a.i, a.after, a.held, a.dead, a.unread, a.error FROM {schema}.messages m
  JOIN unnest($1::bigint[], $2::integer[], $3::bigint[], $4::boolean[], $5::boolean[], $6::boolean[], $7::text[]) WITH ORDINALITY a(key, fence, after, held, dead, unread, error, i)
    ON m.key = a.key AND m.fence = a.fence WHERE m.held ORDER BY m.key FOR UPDATE OF m)
UPDATE {schema}.messages m SET visible_at = CASE WHEN l.dead THEN 'infinity' ELSE clock_timestamp() + l.after * interval '1 microsecond' END,
  held = l.held, dead = l.dead, receives = m.receives - l.unread::integer, error = coalesce(l.error, m.error)
FROM l WHERE m.key = l.key RETURNING l.i, m.queue, NOT l.held

-- name: foreign_messages
-- Which messages lie in queues whose names do not begin as they are said to. Primary keys of both tables.
SELECT a.i FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY a(key, queues, i)
JOIN {schema}.messages m ON m.key = a.key JOIN {schema}.queues q ON q.key = m.queue WHERE NOT starts_with(q.name, a.queues)

-- name: send_with
-- Messages of commits, in order. Fails, as a column is null that may not be, where a queue is not there.
INSERT INTO {schema}.messages (queue, grp, priority, visible_at, head, body, sum, places)
SELECT q.key, u.grp, u.priority, clock_timestamp() + u.delay * interval '1 microsecond', u.head, u.body, u.sum,
  CASE WHEN q.limits IS NOT NULL THEN {schema}.message_places(q.limits, u.body, u.keys) END
FROM unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[], $5::text[], $6::bytea[], $7::integer[], $8::text[])
  WITH ORDINALITY u(queue, grp, priority, delay, head, body, sum, keys, i) LEFT JOIN {schema}.queues q ON q.name = u.queue
ORDER BY u.i

-- name: receive_messages
-- Receives messages without a group; those that were received too often are dead. $3 is from when on to look, for the priorities 3, 2, 1, 0. $5: only these, null: all.
-- Index messages_ready, which wants to be told of infinity, and a clock that stands still.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
q AS MATERIALIZED (SELECT key, max_receives, coalesce($4::bigint, visibility_ns / 1000) * interval '1 microsecond' AS visibility FROM {schema}.queues WHERE name = $1 AND paused IS NULL),
c AS MATERIALIZED (
  SELECT x.key, x.visible_at, x.error FROM unnest('{3,2,1,0}'::smallint[], $3::timestamptz[]) WITH ORDINALITY p(priority, low, i)
  CROSS JOIN LATERAL (SELECT m.key, m.visible_at, m.error FROM {schema}.messages m WHERE m.queue = (SELECT key FROM q) AND m.priority = p.priority AND m.grp IS NULL
    AND m.visible_at < 'infinity' AND m.visible_at <= (SELECT now FROM clock) AND m.visible_at >= p.low AND ($5::bigint[] IS NULL OR m.key = ANY($5))
    ORDER BY m.visible_at, m.key LIMIT $2::bigint FOR UPDATE SKIP LOCKED) x ORDER BY p.i LIMIT $2::bigint)
UPDATE {schema}.messages m SET
  visible_at = CASE WHEN m.receives >= q.max_receives THEN 'infinity' ELSE (SELECT now FROM clock) + q.visibility END,
  dead = m.receives >= q.max_receives, error = CASE WHEN m.receives >= q.max_receives THEN m.error END, held = m.receives < q.max_receives,
  receives = m.receives + (m.receives < q.max_receives)::integer, fence = least(m.fence, 2147483646) + (m.receives < q.max_receives)::integer
FROM c, q WHERE m.key = c.key
RETURNING m.key, m.grp, m.priority, m.visible_at, m.receives, m.fence, m.held, m.dead, m.sent_at, c.error, m.head, m.body, m.sum, c.visible_at

-- name: next_message
-- What is to come in a queue, if there is one: whether it is open, the time, when the next message without a group can be received, and the next with one; and whether it has limits, or had.
-- $2 is from when on to look, for the priorities 3, 2, 1, 0, as in receive_messages, and $3 until when.
-- Indexes messages_ready, messages_heads.
SELECT q.paused IS NULL, clock_timestamp(),
  (SELECT min(x.visible_at) FROM unnest('{3,2,1,0}'::smallint[], $2::timestamptz[]) p(priority, low)
    CROSS JOIN LATERAL (SELECT m.visible_at FROM {schema}.messages m WHERE m.queue = q.key AND m.priority = p.priority AND m.grp IS NULL AND m.visible_at < 'infinity' AND m.visible_at >= p.low AND m.visible_at <= $3
      ORDER BY m.visible_at LIMIT 1) x),
  (SELECT m.visible_at FROM {schema}.messages m WHERE m.queue = q.key AND m.grp IS NOT NULL AND m.visible_at < 'infinity' ORDER BY m.visible_at LIMIT 1),
  q.limits IS NOT NULL
FROM {schema}.queues q WHERE q.name = $1

-- name: ready_messages
-- The first messages that can be received, those without a group and those with one, to look at. Indexes messages_ready, messages_heads.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now), q AS MATERIALIZED (SELECT key FROM {schema}.queues WHERE name = $1 AND paused IS NULL)
(SELECT x.key, x.body FROM unnest('{3,2,1,0}'::smallint[]) WITH ORDINALITY p(priority, i)
  CROSS JOIN LATERAL (SELECT m.key, m.body FROM {schema}.messages m WHERE m.queue = (SELECT key FROM q) AND m.priority = p.priority AND m.grp IS NULL
    AND m.visible_at < 'infinity' AND m.visible_at <= (SELECT now FROM clock) ORDER BY m.visible_at, m.key LIMIT $2::bigint) x ORDER BY p.i LIMIT $2::bigint)
UNION ALL
(SELECT m.key, m.body FROM {schema}.messages m WHERE m.queue = (SELECT key FROM q) AND m.grp IS NOT NULL
  AND m.visible_at < 'infinity' AND m.visible_at <= (SELECT now FROM clock) ORDER BY m.visible_at, m.key LIMIT $2::bigint)

-- name: heads
-- Messages of groups that may be received, behind one, and their groups. It locks nothing. Index messages_heads.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now), q AS MATERIALIZED (SELECT key FROM {schema}.queues WHERE name = $1 AND paused IS NULL)
SELECT m.queue, m.key, m.grp, m.visible_at FROM {schema}.messages m WHERE m.queue = (SELECT key FROM q) AND m.grp IS NOT NULL AND m.visible_at < 'infinity'
  AND m.visible_at <= (SELECT now FROM clock) AND (m.visible_at, m.key) > ($2::timestamptz, $3::bigint) ORDER BY m.visible_at, m.key LIMIT $4::bigint

-- name: lock_free_groups
-- Of these groups, those that are there and that nobody holds.
SELECT grp FROM {schema}.message_groups WHERE queue = $1 AND grp = ANY($2::text[]) ORDER BY grp FOR UPDATE SKIP LOCKED

-- name: make_groups
-- Of these groups, those that were not there.
INSERT INTO {schema}.message_groups (queue, grp, head)
SELECT $1, o.grp, 0 FROM unnest($2::text[]) o(grp) WHERE NOT EXISTS (SELECT FROM {schema}.message_groups g WHERE g.queue = $1 AND g.grp = o.grp) ORDER BY o.grp
ON CONFLICT DO NOTHING RETURNING grp

-- name: receive_heads
-- Receives of groups that are held: of each its head, when its time has come, or where there is none the first; $4 at most. $5: only these, null: all.
-- Index messages_group.
WITH clock AS MATERIALIZED (SELECT clock_timestamp() AS now),
q AS MATERIALIZED (SELECT key, max_receives, coalesce($3::bigint, visibility_ns / 1000) * interval '1 microsecond' AS visibility FROM {schema}.queues WHERE key = $1),
c AS MATERIALIZED (
  SELECT x.key, x.visible_at, x.error FROM unnest($2::text[]) o(grp) JOIN {schema}.message_groups g ON g.queue = $1 AND g.grp = o.grp
  LEFT JOIN {schema}.messages h ON h.key = g.head AND NOT h.dead
  CROSS JOIN LATERAL (SELECT m.key, m.visible_at, m.error FROM {schema}.messages m WHERE m.key = coalesce(h.key,
      (SELECT z.key FROM {schema}.messages z WHERE z.queue = $1 AND z.grp = o.grp AND NOT z.dead ORDER BY z.key LIMIT 1))
    AND (h.key IS NULL OR m.visible_at <= (SELECT now FROM clock)) AND ($5::bigint[] IS NULL OR m.key = ANY($5)) FOR UPDATE SKIP LOCKED) x
  ORDER BY x.visible_at, x.key LIMIT $4::bigint),
set_head AS (
  UPDATE {schema}.message_groups g SET head = m.key FROM c JOIN {schema}.messages m ON m.key = c.key WHERE g.queue = $1 AND g.grp = m.grp AND g.head <> m.key)
UPDATE {schema}.messages m SET
  visible_at = CASE WHEN m.receives >= q.max_receives THEN 'infinity' ELSE (SELECT now FROM clock) + q.visibility END,
  dead = m.receives >= q.max_receives, error = CASE WHEN m.receives >= q.max_receives THEN m.error END, held = m.receives < q.max_receives,
  receives = m.receives + (m.receives < q.max_receives)::integer, fence = least(m.fence, 2147483646) + (m.receives < q.max_receives)::integer
FROM c, q WHERE m.key = c.key
RETURNING m.key, m.grp, m.priority, m.visible_at, m.receives, m.fence, m.held, m.dead, m.sent_at, c.error, m.head, m.body, m.sum, c.visible_at

-- name: park_messages
-- Of these messages, those of a held group that has a head wait behind it.
UPDATE {schema}.messages SET visible_at = 'infinity' WHERE key IN (
  SELECT m.key FROM {schema}.messages m JOIN {schema}.message_groups g ON g.queue = m.queue AND g.grp = m.grp AND g.head <> m.key
  JOIN {schema}.messages h ON h.key = g.head AND NOT h.dead
  WHERE m.key = ANY($1::bigint[]) AND m.grp = ANY($2::text[]) AND m.visible_at < 'infinity' AND NOT m.dead FOR UPDATE OF m SKIP LOCKED)

-- name: promote_messages
-- Of held groups without a head the first that waits can be received. Index messages_group.
UPDATE {schema}.messages m SET visible_at = clock_timestamp() FROM unnest($1::integer[], $2::text[]) a(queue, grp)
WHERE m.key = (SELECT z.key FROM {schema}.messages z WHERE z.queue = a.queue AND z.grp = a.grp AND NOT z.dead ORDER BY z.key LIMIT 1) AND m.visible_at = 'infinity'
  AND NOT EXISTS (SELECT FROM {schema}.message_groups g JOIN {schema}.messages h ON h.key = g.head AND NOT h.dead WHERE g.queue = a.queue AND g.grp = a.grp)

-- name: drop_groups
-- Held groups without a head are none.
DELETE FROM {schema}.message_groups g USING unnest($1::integer[], $2::text[]) a(queue, grp)
WHERE g.queue = a.queue AND g.grp = a.grp AND NOT EXISTS (SELECT FROM {schema}.messages h WHERE h.key = g.head AND NOT h.dead)

-- name: groups_of
-- The groups of messages. It locks nothing; the group of a message never changes.
SELECT DISTINCT m.queue, m.grp FROM {schema}.messages m WHERE m.key = ANY($1::bigint[]) AND m.grp IS NOT NULL ORDER BY m.queue, m.grp

-- name: lock_groups
-- Locks the rows of groups, in order, and waits for who holds them.
SELECT g.grp FROM {schema}.message_groups g JOIN unnest($1::integer[], $2::text[]) a(queue, grp) ON g.queue = a.queue AND g.grp = a.grp ORDER BY g.queue, g.grp FOR UPDATE OF g
