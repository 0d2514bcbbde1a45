-- Hooks that are active, and those that are over.

-- name: hook_by_token
-- Who holds a token, be it a run whose row is lost. Index hooks_token.
SELECT h.run, h.id, coalesce(r.id, 'lost_run_' || h.run) FROM hooks h LEFT JOIN runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = ?1

-- name: ended_hook_by_token
-- Who held a token last, where nobody holds it now. Index ended_hooks_token.
SELECT h.run, h.id, r.id FROM ended_hooks h CROSS JOIN runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = ?1 ORDER BY h.key DESC LIMIT 1

-- name: insert_hook
-- A hook; a taken token fails. Index hooks_token.
INSERT INTO hooks (token, run, id, metadata, created_us) VALUES (?1, ?2, ?3, ?4, ?5)

-- name: delete_hook
-- A hook is disposed. Index hooks_run.
DELETE FROM hooks WHERE run = ?1 AND id = ?2

-- name: keep_hooks
-- The run goes on in a new segment; hooks that are not named (JSON array of IDs) are over. Index hooks_run.
DELETE FROM hooks WHERE run = ?1 AND id NOT IN (SELECT value FROM json_each(?2))

-- name: delete_run_hooks
-- The run is over. Index hooks_run.
DELETE FROM hooks WHERE run = ?1
