-- Lists of runs and of hooks, and the attributes that runs are found by.

-- name: show_run
-- One run with its input and its place in the queue. Index runs_id.
SELECT {run}
FROM runs r LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE r.ns = 0 AND r.id = ?1

-- name: created_at
-- When a run was created. By key.
SELECT created_us FROM runs WHERE key = ?1

-- name: show_hook
-- The hook that has a token. Index hooks_token.
SELECT h.id, r.id, h.token, h.metadata, h.created_us FROM hooks h CROSS JOIN runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = ?1

-- name: list_run_hooks
-- The active hooks of a run, oldest first. Indexes runs_id, hooks_run.
SELECT h.id, r.id, h.token, h.metadata, h.created_us FROM runs r CROSS JOIN hooks h ON h.run = r.key WHERE r.ns = 0 AND r.id = ?1
ORDER BY h.key LIMIT ?2

-- name: list_hooks
-- All active hooks, oldest first. By key.
SELECT h.id, r.id, h.token, h.metadata, h.created_us FROM hooks h CROSS JOIN runs r ON r.key = h.run ORDER BY h.key LIMIT ?1

-- name: show_ended_hook
-- The last hook that had a token and is over. Index ended_hooks_token.
SELECT h.id, r.id, h.token, h.metadata, h.created_us FROM ended_hooks h CROSS JOIN runs r ON r.key = h.run WHERE h.ns = 0 AND h.token = ?1
ORDER BY h.key DESC LIMIT 1

-- name: list_runs
-- Runs between two keys, newest first; the reader stops when it has enough. What cannot match is left out here, before anything else of it is read;
-- what is not asked for, null, leaves out none: a run whose row is damaged is listed.
-- By key.
SELECT {run}
FROM runs r LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE r.key < ?1 AND r.key > ?2
  AND (?6 IS NULL OR r.status IN (?3, ?4, ?5) OR r.status IS NULL AND ?6)
  AND (?7 IS NULL OR r.created_us >= ?7) AND (?8 IS NULL OR r.created_us <= ?8)
  AND (?9 IS NULL OR r.parent_run IS NULL) AND (?10 IS NULL OR coalesce(c.version, r.version) = ?10)
ORDER BY r.key DESC

-- name: list_workflow_runs
-- The same of one workflow. Index runs_workflow.
SELECT {run}
FROM runs r LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE r.workflow = ?9 AND r.key < ?1 AND r.key > ?2
  AND (?6 IS NULL OR r.status IN (?3, ?4, ?5) OR r.status IS NULL AND ?6)
  AND (?7 IS NULL OR r.created_us >= ?7) AND (?8 IS NULL OR r.created_us <= ?8)
  AND (?10 IS NULL OR r.parent_run IS NULL) AND (?11 IS NULL OR coalesce(c.version, r.version) = ?11)
ORDER BY r.key DESC

-- name: list_live_runs
-- The same of those that are not over, of one workflow or all: what has ended is not looked at. By key of the queue.
SELECT {run}
FROM queue q CROSS JOIN runs r ON r.key = q.run LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE q.run < ?1 AND q.run > ?2 AND q.running IN (?3, ?4)
  AND (?5 IS NULL OR q.class IN (SELECT key FROM classes WHERE workflow = ?5))
  AND (?6 IS NULL OR r.created_us >= ?6) AND (?7 IS NULL OR r.created_us <= ?7)
  AND (?8 IS NULL OR r.parent_run IS NULL) AND (?9 IS NULL OR coalesce(c.version, r.version) = ?9)
ORDER BY q.run DESC

-- name: list_failed_runs
-- The same of those that are over and did not complete, of one workflow or all. Index runs_failed.
SELECT {run}
FROM runs r INDEXED BY runs_failed LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE r.status IN ('failed', 'cancelled') AND r.key < ?1 AND r.key > ?2 AND r.status IN (?3, ?4)
  AND (?5 IS NULL OR r.workflow = ?5)
  AND (?6 IS NULL OR r.created_us >= ?6) AND (?7 IS NULL OR r.created_us <= ?7)
  AND (?8 IS NULL OR r.parent_run IS NULL) AND (?9 IS NULL OR r.version = ?9)
ORDER BY r.key DESC

-- name: edge_of_runs
-- The run that comes so many after a key: a page of a filtered list stops before it. By key.
SELECT key FROM runs WHERE key < ?1 ORDER BY key DESC LIMIT 1 OFFSET ?2

-- name: edge_of_workflow_runs
-- The same of one workflow. Index runs_workflow, covering.
SELECT key FROM runs WHERE workflow = ?3 AND key < ?1 ORDER BY key DESC LIMIT 1 OFFSET ?2

-- name: edge_of_live_runs
-- The same of those that are not over. By key of the queue.
SELECT run FROM queue WHERE run < ?1 ORDER BY run DESC LIMIT 1 OFFSET ?2

-- name: edge_of_failed_runs
-- The same of those that are over and did not complete. Index runs_failed.
SELECT key FROM runs INDEXED BY runs_failed WHERE status IN ('failed', 'cancelled') AND key < ?1 ORDER BY key DESC LIMIT 1 OFFSET ?2

-- name: fewer_stand
-- Whether fewer runs have one of two statuses than there are of a workflow: a handful of rows for each workflow.
SELECT total(CASE WHEN status IN (?2, ?3) THEN n END) < total(CASE WHEN workflow = ?1 AND status NOT IN ('paused', 'blocked') THEN n END)
FROM totals

-- name: key_runs
-- The runs with an idempotency key, one of each workflow, or of one workflow; and (1) those that were given the input of the start with it. Indexes runs_idem,
-- delivered_idem; by way of the workflows that there are.
WITH names AS MATERIALIZED (SELECT DISTINCT workflow FROM classes WHERE ?2 IS NULL OR workflow = ?2)
SELECT r.key, 0 FROM names CROSS JOIN runs r WHERE r.ns = 0 AND r.workflow = names.workflow AND r.idem = ?1 AND r.idem IS NOT NULL
UNION ALL
SELECT d.run, 1 FROM names CROSS JOIN delivered d WHERE d.workflow = names.workflow AND d.idem = ?1 AND d.idem IS NOT NULL

-- name: prefix_runs
-- Some runs whose IDs are between two texts. Index runs_id.
SELECT key FROM runs WHERE ns = 0 AND id >= ?1 AND id < ?2 LIMIT ?3

-- name: stopped_runs
-- Some runs that are blocked or paused. Index queue_stopped.
SELECT run FROM queue WHERE (blocked IS NOT NULL OR paused OR resumed) LIMIT ?1

-- name: list_picked_runs
-- The same of those with some keys. By key.
SELECT {run}
FROM (SELECT value AS key FROM json_each(?3) ORDER BY value DESC) k CROSS JOIN runs r ON r.key = k.key
LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE k.key < ?1 AND k.key > ?2
ORDER BY k.key DESC

-- name: list_child_runs
-- The same of the children of one, of one workflow or all. Index runs_parent.
SELECT {run}
FROM runs r LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE r.parent_run = ?9 AND r.key < ?1 AND r.key > ?2 AND (?10 IS NULL OR r.workflow = ?10)
  AND (?6 IS NULL OR r.status IN (?3, ?4, ?5) OR r.status IS NULL AND ?6)
  AND (?7 IS NULL OR r.created_us >= ?7) AND (?8 IS NULL OR r.created_us <= ?8)
ORDER BY r.key DESC

-- name: edge_of_child_runs
-- The same of the children of one. Index runs_parent, covering.
SELECT key FROM runs WHERE parent_run = ?3 AND key < ?1 ORDER BY key DESC LIMIT 1 OFFSET ?2

-- name: list_made_runs
-- The same of those that were made of one, of one workflow or all. Index runs_origin.
SELECT {run}
FROM runs r LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class LEFT JOIN workers w ON w.key = q.owner
LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE r.origin_run = ?9 AND r.key < ?1 AND r.key > ?2 AND (?10 IS NULL OR r.workflow = ?10)
  AND (?6 IS NULL OR r.status IN (?3, ?4, ?5) OR r.status IS NULL AND ?6)
  AND (?7 IS NULL OR r.created_us >= ?7) AND (?8 IS NULL OR r.created_us <= ?8)
ORDER BY r.key DESC

-- name: edge_of_made_runs
-- The same of those that were made of one. Index runs_origin, covering.
SELECT key FROM runs WHERE origin_run = ?3 AND key < ?1 ORDER BY key DESC LIMIT 1 OFFSET ?2

-- name: list_attribute_runs
-- The same of those with an attribute, of one workflow or all. By the key of the attributes.
SELECT {run}
FROM attributes a CROSS JOIN runs r ON r.key = a.run LEFT JOIN queue q ON q.run = r.key LEFT JOIN classes c ON c.key = q.class
LEFT JOIN workers w ON w.key = q.owner LEFT JOIN log l ON l.run = r.key AND l.seq = 1
WHERE a.name = ?9 AND a.value = ?10 AND a.run < ?1 AND a.run > ?2 AND (?11 IS NULL OR r.workflow = ?11)
  AND (?6 IS NULL OR r.status IN (?3, ?4, ?5) OR r.status IS NULL AND ?6)
  AND (?7 IS NULL OR r.created_us >= ?7) AND (?8 IS NULL OR r.created_us <= ?8)
ORDER BY a.run DESC

-- name: edge_of_attribute_runs
-- The run that comes so many after a key, of those with an attribute. By the table's key.
SELECT run FROM attributes WHERE name = ?3 AND value = ?4 AND run < ?1 ORDER BY run DESC LIMIT 1 OFFSET ?2

-- name: few_attribute_runs
-- How many runs before a key have an attribute, counted up to a few, and the oldest of those. By the table's key.
SELECT count(*), min(run) FROM (SELECT run FROM attributes WHERE name = ?1 AND value = ?2 AND run < ?3 ORDER BY run DESC LIMIT ?4)

-- name: few_workflow_runs
-- How many runs of a workflow there are before a key, counted up to a few. Index runs_workflow, covering.
SELECT count(*) FROM (SELECT 1 FROM runs WHERE workflow = ?1 AND key < ?2 LIMIT ?3)

-- name: few_live_runs
-- How many runs before a key are not over, counted up to a few. By key of the queue.
SELECT count(*) FROM (SELECT 1 FROM queue WHERE run < ?1 LIMIT ?2)

-- name: few_failed_runs
-- The same of those that are over and did not complete. Index runs_failed.
SELECT count(*) FROM (SELECT 1 FROM runs INDEXED BY runs_failed WHERE status IN ('failed', 'cancelled') AND key < ?1 LIMIT ?2)

-- name: attributes_of
-- The attributes of a run. By key.
SELECT attributes FROM runs WHERE key = ?1

-- name: set_attributes
-- The attributes of a run have changed. By key.
UPDATE runs SET attributes = ?2 WHERE key = ?1

-- name: insert_attribute
-- A run has an attribute. By the table's key.
INSERT INTO attributes (name, value, run) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING

-- name: delete_attribute
-- A run has an attribute no more, or another value of it. By the table's key.
DELETE FROM attributes WHERE name = ?1 AND value = ?2 AND run = ?3
