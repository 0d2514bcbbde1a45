-- What holds for all programs of the file: definitions of workflows, settings, encryption keys, metrics.

-- name: define
-- What a version of a workflow says, and who says it, where that differs. By key.
INSERT INTO definitions (workflow, version, says, schemas, worker) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (workflow, version) DO UPDATE SET says = excluded.says, schemas = excluded.schemas, worker = excluded.worker
WHERE says <> excluded.says OR excluded.worker NOT IN ('', worker)

-- name: definitions_of
-- What the versions of a workflow say. By key.
SELECT version, says, worker FROM definitions WHERE workflow = ?1 ORDER BY version

-- name: live_classes
-- What workers have, and until when their leases go: a handful.
SELECT id, classes, until_us FROM workers

-- name: schemas_of
-- The schemas of a version of a workflow. By key.
SELECT schemas FROM definitions WHERE workflow = ?1 AND version = ?2

-- name: setting
-- What operators set for all. By key.
SELECT value FROM settings WHERE name = ?1

-- name: set_setting
-- An operator sets something for all. By key.
INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: bind_key
-- An ID stands for a key from now on, unless it does for one. By key.
INSERT INTO keys (id, print) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING

-- name: key_print
-- The fingerprint that the ID of a key is bound to. By key.
SELECT print FROM keys WHERE id = ?1

-- name: metrics
-- What processes have counted. By key.
SELECT process, revision, put_at, says FROM metrics WHERE says <> '' ORDER BY process

-- name: metrics_revision
-- What a process has given last, and whether it stands: it was not absorbed. By key.
SELECT revision, says <> '' FROM metrics WHERE process = ?1

-- name: put_metrics
-- What a process has counted. By key.
INSERT INTO metrics (process, revision, put_at, says) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (process) DO UPDATE SET revision = excluded.revision, put_at = excluded.put_at, says = excluded.says

-- name: absorb_metrics
-- What another process has added to its own. By key.
UPDATE metrics SET says = '', put_at = ?2 WHERE process = ?1

-- name: forget_metrics
-- What was absorbed long ago. All rows: one a process.
DELETE FROM metrics WHERE says = '' AND put_at < ?1
