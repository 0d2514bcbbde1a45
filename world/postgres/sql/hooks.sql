-- Hooks, active and over.

-- name: hook_by_token
-- Who holds a token, be it a run whose row is lost. Index hooks_token.
SELECT h.run, h.id, coalesce(r.id, 'lost_run_' || h.run) FROM {schema}.hooks h LEFT JOIN {schema}.runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = $1::text

-- name: claim_hooks
-- Hooks are created where their tokens are free: index hooks_token. In the order of the tokens, so that two who claim the same wait for one another
-- in one order.
INSERT INTO {schema}.hooks (token, run, id, metadata, created_at)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::timestamptz[]) a(token, run, id, metadata, created_at) ORDER BY 1
ON CONFLICT DO NOTHING

-- name: insert_hooks
-- Hooks are created. A token that is held fails: index hooks_token.
INSERT INTO {schema}.hooks (token, run, id, metadata, created_at)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::timestamptz[])

-- name: delete_hooks
-- Hooks that were disposed. Index hooks_run.
WITH gone AS (
  DELETE FROM {schema}.hooks h USING unnest($1::bigint[], $2::text[]) a(run, id) WHERE h.run = a.run AND h.id = a.id
  RETURNING h.token, h.run, h.id, h.metadata, h.created_at)
INSERT INTO {schema}.ended_hooks (token, run, id, metadata, created_at) SELECT * FROM gone

-- name: keep_hooks
-- Runs go on in a new segment; hooks that are not named (a JSON array of IDs for each) are over. Index hooks_run.
WITH gone AS (
  DELETE FROM {schema}.hooks h USING unnest($1::bigint[], $2::text[]) a(run, ids)
  WHERE h.run = a.run AND h.id NOT IN (SELECT json_array_elements_text(a.ids::json))
  RETURNING h.token, h.run, h.id, h.metadata, h.created_at)
INSERT INTO {schema}.ended_hooks (token, run, id, metadata, created_at) SELECT * FROM gone

-- name: delete_run_hooks
-- All hooks of runs that are over. Index hooks_run.
WITH gone AS (DELETE FROM {schema}.hooks WHERE run = ANY($1::bigint[]) RETURNING token, run, id, metadata, created_at)
INSERT INTO {schema}.ended_hooks (token, run, id, metadata, created_at) SELECT * FROM gone

-- name: insert_over_hooks
-- Hooks that are over in the commit in which they were created. No index.
INSERT INTO {schema}.ended_hooks (token, run, id, metadata, created_at)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::bytea[], $5::timestamptz[])

-- name: show_ended_hook
-- The last hook that had a token and is over. Index ended_hooks_token.
SELECT h.id, r.id, h.token, h.metadata, h.created_at
FROM {schema}.ended_hooks h JOIN {schema}.runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = $1 ORDER BY h.key DESC LIMIT 1

-- name: show_hook
-- The active hook with a token. Index hooks_token.
SELECT h.id, r.id, h.token, h.metadata, h.created_at
FROM {schema}.hooks h JOIN {schema}.runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = $1

-- name: list_run_hooks
-- The active hooks of a run, oldest first. Indexes runs_id, hooks_run.
SELECT h.id, r.id, h.token, h.metadata, h.created_at
FROM {schema}.runs r JOIN {schema}.hooks h ON h.run = r.key WHERE r.ns = 0 AND r.id = $1
ORDER BY h.key LIMIT $2

-- name: list_hooks
-- All active hooks, oldest first. By key.
SELECT h.id, r.id, h.token, h.metadata, h.created_at
FROM {schema}.hooks h CROSS JOIN LATERAL (SELECT id FROM {schema}.runs WHERE key = h.run LIMIT 1) r
ORDER BY h.key LIMIT $1
