-- What was sent to runs: mail that waits, and deliveries that are known when they come again.

-- name: insert_mail
-- A delivery; one that waits already is ignored. Index inbox_run.
INSERT INTO inbox (run, delivery, arrived_us, cancel, payload, format, head, body, key, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT DO NOTHING

-- name: mail_queue
-- Mail came for a run that nobody owns. By key.
UPDATE queue SET mail_us = coalesce(mail_us, ?2), cancel = cancel OR ?3 WHERE run = ?1 AND owner IS NULL

-- name: count_payloads
-- How many payloads a run has not read. Index inbox_run.
SELECT count(*) FROM inbox WHERE run = ?1 AND payload

-- name: act_waits
-- Whether mail of one of two types waits, an operator's act: acts come alone. Index inbox_run.
SELECT 1 FROM inbox WHERE run = ?1 AND CASE WHEN json_valid(head) THEN head ->> '$.e[0].y' END IN (?2, ?3) LIMIT 1

-- name: run_mail
-- The mail of a run, in order of arrival. Index inbox_run.
SELECT row, delivery, arrived_us, format, head, body, sum FROM inbox WHERE run = ?1 ORDER BY row

-- name: owned_mail
-- The mail of all runs of a worker, in order of arrival. Indexes queue_owner, inbox_run.
SELECT i.row, i.delivery, i.arrived_us, i.format, i.head, i.body, i.sum, r.id, r.created_us
FROM queue q CROSS JOIN inbox i ON i.run = q.run CROSS JOIN runs r ON r.key = q.run
WHERE q.owner = ?1
ORDER BY i.row

-- name: count_mail
-- How much mail a run has. Index inbox_run, covering.
SELECT count(*) FROM inbox WHERE run = ?1

-- name: delete_mail
-- One delivery was appended or dropped. By row.
DELETE FROM inbox WHERE row = ?1 AND run = ?2 RETURNING payload

-- name: late_mail
-- The run is over: what was delivered and not read came too late. Indexes inbox_run, the primary key of delivered.
UPDATE delivered SET late = (
  SELECT json_object('type', coalesce(h ->> '$.e[0].y', ''), 'name', coalesce(h ->> '$.e[0].n', ''), 'by', coalesce(h ->> '$.e[0].by', ''),
    'reason', coalesce(h ->> '$.e[0].s', ''), 'delivery', i.delivery, 'arrivedAt', strftime('%Y-%m-%dT%H:%M:%S', i.arrived_us / 1000000, 'unixepoch') || printf('.%06dZ', i.arrived_us % 1000000))
  FROM (SELECT delivery, arrived_us, CASE WHEN json_valid(head) THEN head END AS h FROM inbox WHERE run = ?1 AND key = delivered.key) i)
WHERE run = ?1 AND key IN (SELECT key FROM inbox WHERE run = ?1)

-- name: delete_run_mail
-- The run is over. Index inbox_run.
DELETE FROM inbox WHERE run = ?1

-- name: insert_delivered
-- A delivery is known from now on; one that is known already is left as it is. Primary key.
INSERT INTO delivered (run, key, at_us, print, sender, marked) VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO NOTHING

-- name: delete_ended_hooks
-- The run is swept. Index ended_hooks_run.
DELETE FROM ended_hooks WHERE run = ?1

-- name: find_delivered
-- What is known of a delivery. Primary key.
SELECT print, late IS NOT NULL FROM delivered WHERE run = ?1 AND key = ?2

-- name: forget_run
-- The run is swept: nothing is known of what was delivered to it. Primary key.
DELETE FROM delivered WHERE run = ?1

-- name: list_late
-- What came to a run too late, in order of arrival. Index delivered_late.
SELECT d.late FROM runs r CROSS JOIN delivered d INDEXED BY delivered_late ON d.run = r.key WHERE r.ns = 0 AND r.id = ?1 AND d.late IS NOT NULL ORDER BY d.at_us LIMIT ?2

-- name: marked_runs
-- Runs that may know of more deliveries than they need: of which one is older than that. Index delivered_marked.
SELECT run FROM delivered INDEXED BY delivered_marked WHERE marked IS NOT NULL AND at_us < ?1 ORDER BY at_us LIMIT ?2

-- name: forget
-- Forgets deliveries of a run (?1) that came before a time (?2), but for the last ?3, those that are unread, and
-- those whose sender may come again.
-- Primary key.
DELETE FROM delivered WHERE run = ?1 AND key IN (
  SELECT d.key FROM (SELECT key, at_us, sender FROM delivered WHERE run = ?1 ORDER BY at_us DESC LIMIT -1 OFFSET ?3) d
  WHERE d.at_us < ?2 AND d.key NOT IN (SELECT i.key FROM inbox i WHERE i.run = ?1)
    AND (d.sender IS NULL OR d.sender <> '' AND EXISTS (SELECT 1 FROM runs r WHERE r.ns = 0 AND r.id = d.sender AND r.status IS NOT NULL)))

-- name: unmark
-- A run has been looked at. Primary key.
UPDATE delivered SET marked = NULL WHERE run = ?1 AND marked IS NOT NULL AND at_us < ?2
