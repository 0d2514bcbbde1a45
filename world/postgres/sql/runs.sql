-- Runs: births, ends, keys, classes, attributes and segments.

-- name: next_run_keys
-- Keys of runs, some at a time: they grow, and those that are not used are nobody's.
SELECT nextval($n${schema}.run_keys$n$) FROM generate_series(1, $1::integer)

-- name: insert_run
-- A run is created, where neither its ID nor its idempotency key is taken: indexes runs_id, runs_idem, and
-- delivered_idem of starts that were merged, in the function merged. Waits for a stranger who is about to take one. What
-- a worker begins with it ({begins}) fails by a division by zero where the workflow is held.
INSERT INTO {schema}.runs ({birth}) SELECT {values}
WHERE ($5::text IS NULL OR {schema}.merged($3::text, $5::text) IS NULL) AND (NOT {begins}::boolean OR 1 / (NOT EXISTS (SELECT FROM {schema}.holds h WHERE h.workflow = $3::text AND h.state < 2))::integer = 1)
ON CONFLICT DO NOTHING

-- name: insert_runs
-- Runs are created. A taken ID or idempotency key fails: indexes runs_id, runs_idem. So does, by a division by zero, what a worker begins with it where the
-- workflow is held.
INSERT INTO {schema}.runs ({birth})
SELECT {birth} FROM unnest({arrays}, {begins}::boolean[]) b({birth}, begins)
WHERE NOT b.begins OR 1 / (NOT EXISTS (SELECT FROM {schema}.holds h WHERE h.workflow = b.workflow AND h.state < 2))::integer = 1

-- name: find_class
-- The key of a class. Its unique index.
SELECT key FROM {schema}.classes WHERE workflow = $1::text AND version = $2::integer

-- name: insert_class
-- A class is seen for the first time; another process may have been quicker.
INSERT INTO {schema}.classes (workflow, version) VALUES ($1::text, $2::integer) ON CONFLICT DO NOTHING

-- name: class_name
-- A class by its key.
SELECT workflow, version FROM {schema}.classes WHERE key = $1::integer

-- name: look_run
-- What a commit needs to know of a run, by its ID; columns of the queue are null when it is over. Indexes runs_id, log_run.
SELECT r.key, r.created_at, r.workflow, r.retention_ns, r.takes,
  coalesce((SELECT least(l.seq, 4611686018427387904) + l.n - 1 FROM {schema}.log l WHERE l.run = r.key ORDER BY l.seq DESC LIMIT 1), 0),
  c.version, q.running, q.priority, q.owner, q.take, q.paused, q.blocked IS NOT NULL, q."full", q.wake_at, coalesce(q.places IS NOT NULL, false)
FROM {schema}.runs r LEFT JOIN {schema}.queue q ON q.run = r.key LEFT JOIN {schema}.classes c ON c.key = abs(q.class)
WHERE r.ns = 0 AND r.id = $1::text

-- name: run_exists
-- Whether a run ID is taken. Index runs_id.
SELECT 1 FROM {schema}.runs WHERE ns = 0 AND id = $1::text

-- name: run_key
-- Which key a run is encrypted with. Index runs_id.
SELECT coalesce(sealed, '') FROM {schema}.runs WHERE ns = 0 AND id = $1::text

-- name: run_by_idem
-- The run that has an idempotency key. Index runs_idem.
SELECT id FROM {schema}.runs WHERE ns = 0 AND workflow = $1::text AND idem = $2::text

-- name: end_runs
-- The outcome of runs. By key.
UPDATE {schema}.runs r SET status = a.status, version = a.version, output = a.output, error = a.error, output_apart = a.apart, ended_at = a.ended,
  sweep_at = CASE WHEN r.retention_ns > 0 THEN a.ended + (r.retention_ns / 1000) * interval '1 microsecond' END, takes = a.takes, end_sum = a.sum
FROM unnest($1::bigint[], $2::text[], $3::integer[], $4::bytea[], $5::text[], $6::timestamptz[], $7::bigint[], $8::integer[], $9::text[])
  a(run, status, version, output, error, ended, takes, sum, apart)
WHERE r.key = a.run

-- name: ended_runs
-- Which of some runs are over. By key.
SELECT a.run FROM unnest($1::bigint[]) a(run) WHERE NOT EXISTS (SELECT 1 FROM {schema}.queue q WHERE q.run = a.run)

-- name: free_keys
-- Runs give their idempotency keys back. By key.
UPDATE {schema}.runs SET idem = NULL WHERE key = ANY($1::bigint[])

-- name: continue_runs
-- Runs go on in new segments. By key.
UPDATE {schema}.runs r SET segment = a.seq, trim = greatest(r.trim, a.trim)
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) a(run, seq, trim) WHERE r.key = a.run

-- name: heirs
-- What took the places of some runs ($1) that did not complete, and what took theirs in turn, each once. Indexes runs_id, runs_idem, queue_pkey.
WITH RECURSIVE heirs (of, workflow, id, status, key) AS (
  SELECT NULL::text, r.workflow, r.id, r.status, r.key FROM unnest($1::text[]) i (id)
  CROSS JOIN LATERAL (SELECT workflow, id, status, key FROM {schema}.runs WHERE ns = 0 AND id = i.id LIMIT 1) r
  UNION
  SELECT h.id, r.workflow, r.id, r.status, r.key FROM heirs h
  CROSS JOIN LATERAL (SELECT workflow, id, status, key FROM {schema}.runs WHERE ns = 0 AND workflow = h.workflow AND idem = 'retry:' || h.id LIMIT 1) r
  WHERE h.status IN ('failed', 'cancelled')
)
SELECT h.of, h.id, coalesce(h.status, (SELECT CASE WHEN q.running THEN 'running' ELSE 'pending' END FROM {schema}.queue q WHERE q.run = h.key))
FROM heirs h WHERE h.of IS NOT NULL

-- name: forebears
-- Some runs ($1), and those whose places they took, as far back as that goes, each once. Index runs_id.
WITH RECURSIVE line (id, idem, parent) AS (
  SELECT r.id, r.idem, r.parent_run FROM unnest($1::text[]) i (id)
  CROSS JOIN LATERAL (SELECT id, idem, parent_run FROM {schema}.runs WHERE ns = 0 AND id = i.id LIMIT 1) r
  UNION
  SELECT r.id, r.idem, r.parent_run FROM line p
  CROSS JOIN LATERAL (SELECT id, idem, parent_run FROM {schema}.runs WHERE ns = 0 AND id = substr(p.idem, 7) LIMIT 1) r
  WHERE p.idem LIKE 'retry:%'
)
SELECT id, idem, parent FROM line

-- name: attributes_of
-- The attributes of a run. By key.
SELECT attributes FROM {schema}.runs WHERE key = $1::bigint

-- name: set_attributes
-- The attributes of runs have changed. By key.
UPDATE {schema}.runs r SET attributes = a.attrs FROM unnest($1::bigint[], $2::text[]) a(run, attrs) WHERE r.key = a.run

-- name: insert_attributes
-- Runs have attributes. By the table's key.
INSERT INTO {schema}.attributes (name, value, created_at, run)
SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[]) ON CONFLICT DO NOTHING

-- name: delete_attributes
-- Runs have attributes no more, or other values of them. Index attributes_pkey.
DELETE FROM {schema}.attributes a USING unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[]) u(name, value, created_at, run)
WHERE a.name = u.name AND a.value = u.value AND a.created_at = u.created_at AND a.run = u.run

-- name: worker_id
-- The public ID of a worker. By key.
SELECT id FROM {schema}.workers WHERE key = $1::bigint

-- name: insert_totals
-- How the counts of runs changed.
INSERT INTO {schema}.totals (workflow, status, n) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[])
