-- What the doctor looks at, and counts that are made right.

-- name: doctor_runs
-- Runs that have been due for a minute (before ?1) and that nobody claimed, by workflow and version: how many, since when, and whether a worker whose
-- lease runs (after ?2) has registered them. Index queue_ready.
SELECT c.workflow, c.version, count(*), min(q.ready_us), EXISTS (
         SELECT 1 FROM workers w, json_each(CASE WHEN json_valid(w.classes) THEN w.classes END) j
         WHERE w.until_us > ?2 AND j.value ->> '$.workflow' = c.workflow AND j.value ->> '$.version' = c.version)
FROM classes c CROSS JOIN queue q ON q.class = c.key AND q.priority IN (0, 1, 2, 3) AND q.ready_us IS NOT NULL AND q.ready_us < ?1
GROUP BY c.key ORDER BY min(q.ready_us)

-- name: doctor_tasks
-- The same of tasks, by step. All of the queue of tasks, on purpose.
SELECT t.name, 0, count(*), min(t.visible_us), EXISTS (
         SELECT 1 FROM workers w, json_each(CASE WHEN json_valid(w.steps) THEN w.steps END) j WHERE w.until_us > ?2 AND j.value = t.name)
FROM tasks t WHERE t.worker IS NULL AND t.visible_us < ?1 GROUP BY t.name ORDER BY min(t.visible_us)

-- name: doctor_mail
-- Mail that came before ?1 though its run is neither paused nor blocked, of the 10,000 oldest rows: how many, since when, for whom. By key.
SELECT n, since, (SELECT id FROM runs WHERE key = run) FROM (
  SELECT count(*) AS n, min(i.arrived_us) AS since, min(i.run) AS run
  FROM (SELECT run, arrived_us FROM inbox ORDER BY row LIMIT 10000) i CROSS JOIN queue q ON q.run = i.run
  WHERE i.arrived_us < ?1 AND q.running AND NOT q.paused AND q.blocked IS NULL)

-- name: doctor_workers
-- Workers whose lease runs at ?2, and those whose lease had ended by ?1 though they hold something. Indexes queue_owner, tasks_held.
SELECT coalesce(sum(until_us > ?2), 0), coalesce(sum(until_us <= ?1 AND (
         EXISTS (SELECT 1 FROM queue WHERE owner = w.key) OR EXISTS (SELECT 1 FROM tasks WHERE worker = w.key))), 0)
FROM workers w

-- name: doctor_pages
-- The size of the file in pages, how many of them are free, and the size of one.
SELECT (SELECT page_count FROM pragma_page_count), (SELECT freelist_count FROM pragma_freelist_count), (SELECT page_size FROM pragma_page_size)

-- name: doctor_unswept
-- Runs whose retention ended before ?1; at most 10,000 are counted. Index runs_sweep.
SELECT count(*) FROM (SELECT 1 FROM runs WHERE sweep_us IS NOT NULL AND sweep_us < ?1 LIMIT 10000)

-- name: doctor_chunks
-- The 10,000 newest batches of streams: how many are of no run; how many overlap with the one before, or leave a gap though nothing was made void;
-- and a run that has such. Indexes chunks_run, runs by key.
SELECT count(*) FILTER (WHERE r.key IS NULL),
       count(*) FILTER (WHERE c.behind > c.idx OR c.behind < c.idx AND NOT c.voided),
       coalesce(min(r.id) FILTER (WHERE c.behind > c.idx OR c.behind < c.idx AND NOT c.voided), '')
FROM (SELECT run, idx, lag(idx + n) OVER (PARTITION BY run, stream ORDER BY idx) AS behind, max(kind = 'reset') OVER (PARTITION BY run, stream) AS voided
      FROM (SELECT run, stream, idx, n, kind FROM chunks ORDER BY run DESC, stream DESC, idx DESC LIMIT 10000)) c
LEFT JOIN runs r ON r.key = c.run

-- name: doctor_orphans
-- Rows that are of no run or class that there is, by table: of how many keys of runs, and the first of these. All of these tables,
-- on purpose; of the large ones by keys and by the first part of indexes log_run, chunks_run, ended_hooks_run.
WITH RECURSIVE
  logs(run) AS (SELECT min(run) FROM log UNION ALL SELECT (SELECT min(run) FROM log WHERE run > k.run) FROM logs k WHERE k.run IS NOT NULL),
  streams(run) AS (SELECT min(run) FROM chunks UNION ALL SELECT (SELECT min(run) FROM chunks WHERE run > k.run) FROM streams k WHERE k.run IS NOT NULL),
  heard(run) AS (SELECT min(run) FROM delivered UNION ALL SELECT (SELECT min(run) FROM delivered WHERE run > k.run) FROM heard k WHERE k.run IS NOT NULL),
  kept(name, run) AS (
    SELECT 'queue', run FROM queue UNION ALL SELECT 'log', run FROM logs WHERE run IS NOT NULL UNION ALL SELECT 'inbox', run FROM inbox
    UNION ALL SELECT 'tasks', run FROM tasks UNION ALL SELECT 'hooks', run FROM hooks UNION ALL SELECT 'ended_hooks', run FROM ended_hooks
    UNION ALL SELECT 'awaits', target FROM awaits UNION ALL SELECT 'awaits', waiter FROM awaits
    UNION ALL SELECT 'chunks', run FROM streams WHERE run IS NOT NULL UNION ALL SELECT 'delivered', run FROM heard WHERE run IS NOT NULL
    UNION ALL SELECT 'attributes', run FROM attributes UNION ALL SELECT 'trims', run FROM trims)
SELECT name, count(DISTINCT run), min(run) FROM kept k WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.key = k.run) GROUP BY name
UNION ALL SELECT 'queue (their class)', count(*), min(run) FROM queue q WHERE NOT EXISTS (SELECT 1 FROM classes c WHERE c.key = q.class) HAVING count(*) > 0
ORDER BY 1

-- name: doctor_apart
-- Values kept apart: how many are held, how many of these have no first piece, and how many have pieces and no holder. Both tables, on
-- purpose, by keys: no piece is read.
SELECT (SELECT count(*) FROM apart), (SELECT count(*) FROM apart a WHERE NOT EXISTS (SELECT 1 FROM apart_pieces p WHERE p.value = a.value AND p.number = 0)),
       (SELECT count(DISTINCT p.value) FROM apart_pieces p WHERE NOT EXISTS (SELECT 1 FROM apart a WHERE a.value = p.value))

-- name: doctor_inbox
-- The 10,000 oldest deliveries. By key.
SELECT i.row, i.delivery, i.arrived_us, i.format, i.head, i.body, i.sum, r.id, r.created_us
FROM (SELECT * FROM inbox ORDER BY row LIMIT 10000) i CROSS JOIN runs r ON r.key = i.run

-- name: doctor_unowned
-- Runs and tasks whose owner is not among the workers: how many, and a run. Indexes queue_owner, tasks_held.
SELECT count(*), coalesce(min((SELECT id FROM runs WHERE key = lost.run)), '') FROM (
  SELECT run FROM queue WHERE owner IS NOT NULL AND owner NOT IN (SELECT key FROM workers)
  UNION ALL SELECT run FROM tasks WHERE worker IS NOT NULL AND worker NOT IN (SELECT key FROM workers)) lost

-- name: doctor_ends
-- Runs whose logs end before an event that they had: their number, and one of them. All of the queue, on purpose; index log_run.
SELECT count(*), coalesce(min(r.id), '') FROM queue q CROSS JOIN runs r ON r.key = q.run
WHERE q.taken > coalesce((SELECT l.seq + l.n - 1 FROM log l WHERE l.run = q.run ORDER BY l.seq DESC LIMIT 1), 0)

-- name: bad_totals
-- Whether the counts of runs cannot be right: no number, fewer than none, more than there ever were, or of what no run is counted as. All of a small table,
-- on purpose.
SELECT EXISTS (SELECT 1 FROM totals WHERE typeof(n) <> 'integer' OR n < 0 OR n > (SELECT coalesce(max(key), 0) FROM runs)
  OR status NOT IN ('pending', 'running', 'completed', 'failed', 'cancelled', 'paused', 'blocked'))

-- name: doctor_counts
-- The counts of runs that are not what runs and the queue say: as they are, and as they should be. All of both, on purpose.
WITH known AS MATERIALIZED (
  SELECT r.workflow, r.status, q.run IS NOT NULL AS live, q.running, q.paused OR q.resumed AS paused, q.blocked IS NOT NULL AS blocked FROM runs r LEFT JOIN queue q ON q.run = r.key),
right_ AS (
  SELECT workflow, CASE WHEN NOT live THEN status WHEN running THEN 'running' ELSE 'pending' END AS status, count(*) AS n FROM known
  WHERE live OR status IN ('completed', 'failed', 'cancelled') GROUP BY 1, 2
  UNION ALL SELECT workflow, 'paused', count(*) FROM known WHERE paused GROUP BY workflow
  UNION ALL SELECT workflow, 'blocked', count(*) FROM known WHERE blocked GROUP BY workflow)
SELECT coalesce(t.workflow, c.workflow), coalesce(t.status, c.status), coalesce(t.n, 0), coalesce(c.n, 0)
FROM totals t FULL JOIN right_ c ON c.workflow = t.workflow AND c.status = t.status
WHERE coalesce(t.n, 0) IS NOT coalesce(c.n, 0) ORDER BY 1, 2

-- name: move_mail
-- A row of the inbox with the last number that there is, which nobody gave it, gets the next one: else no row could be added. By key.
UPDATE OR IGNORE inbox SET row = (SELECT coalesce(max(row), 0) + 1 FROM inbox WHERE row < 9223372036854775807) WHERE row = 9223372036854775807

-- name: move_worker
-- The same of workers. By key.
UPDATE OR IGNORE workers SET key = (SELECT coalesce(max(key), 0) + 1 FROM workers WHERE key < 9223372036854775807) WHERE key = 9223372036854775807
