-- The log of a run, its segments, and what a lost commit came to.

-- name: insert_log
-- One commit. The unique index log_run is the last fence. The driver looks up the name of each parameter that has one, at each use: these
-- have none.
INSERT INTO log (run, seq, n, format, head, body, sum) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: last_row
-- The last commit of a run. Index log_run.
SELECT seq, n FROM log WHERE run = ?1 AND seq < 9223372036854775807 ORDER BY seq DESC LIMIT 1

-- name: last_head
-- The last commit of a run, whole. Index log_run.
SELECT seq, n, format, head, body, sum FROM log WHERE run = ?1 AND seq < 9223372036854775807 ORDER BY seq DESC LIMIT 1

-- name: read_run
-- The key and birth of a run, and what it does not want any more. Index runs_id.
SELECT key, created_us, trim FROM runs WHERE ns = 0 AND id = ?1

-- name: read_log
-- The log of a run from the commit that holds an event on, and what it does not want any more. Index log_run.
SELECT seq, n, format, head, body, (SELECT trim FROM runs WHERE key = ?1), sum FROM log
WHERE run = ?1 AND seq >= coalesce((SELECT seq FROM log WHERE run = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT 1), 0)
ORDER BY seq LIMIT ?3

-- name: row_at
-- The commit of a run that begins at a number. Index log_run.
SELECT format, head, body, sum FROM log WHERE run = ?1 AND seq = ?2

-- name: release_of
-- Who owns a run, under which claim, and what released it last. By key.
SELECT w.id, q.take, q.released FROM queue q LEFT JOIN workers w ON w.key = q.owner WHERE q.run = ?1

-- name: continue_run
-- A run goes on in a new segment. By key.
UPDATE runs SET segment = ?2, trim = max(trim, ?3) WHERE key = ?1

-- name: insert_trim
-- What lies before an event of a run is not wanted any more: for the sweeper.
INSERT INTO trims (run, before) VALUES (?1, ?2) ON CONFLICT DO NOTHING

-- name: due_trims
-- Runs of which something is not wanted any more. By key.
SELECT due.run, max(due.before), r.id, r.created_us FROM trims due CROSS JOIN runs r ON r.key = due.run GROUP BY due.run ORDER BY due.run LIMIT ?1

-- name: row_of
-- The commit of a run that holds an event. Index log_run.
SELECT seq, format, head, body, sum FROM log WHERE run = ?1 AND seq <= ?2 ORDER BY seq DESC LIMIT 1

-- name: trim_log
-- Some commits of a run, at most ?4, between its first and the one at ?2 go; those that hold an event that is named (JSON array of numbers) stay.
-- Index log_run.
DELETE FROM log WHERE rowid IN (
  SELECT rowid FROM log WHERE run = ?1 AND seq > 1 AND seq < ?2
    AND seq NOT IN (SELECT (SELECT l.seq FROM log l WHERE l.run = ?1 AND l.seq <= j.value ORDER BY l.seq DESC LIMIT 1) FROM json_each(?3) j)
  ORDER BY seq LIMIT ?4)

-- name: delete_trims
-- What was not wanted of a run is gone, or the run is. By key.
DELETE FROM trims WHERE run = ?1 AND before <= ?2

-- name: trim_answers
-- Answers to webhooks' requests of segments before the one at ?2 go, at most ?3, and their streams with them. Index chunks_run.
DELETE FROM chunks WHERE rowid IN (
  SELECT rowid FROM chunks WHERE run = ?1 AND stream >= 'webhook/' AND stream < 'webhook0' AND segment < ?2 LIMIT ?3)

-- name: mark_chunks
-- What streams have of segments before the one at ?2 is not wanted any more: of its last batch the last number alone stays, so that the stream's numbers go on
-- behind it, and readers learn what is gone. A mark that closed the stream stays as it is. Index chunks_run.
UPDATE chunks SET idx = idx + n - 1, n = 1, kind = 'trim', step = '', attempt = 0, pos = -1, data = x''
WHERE kind <> 'trim' AND rowid IN (
  SELECT (SELECT c.rowid FROM chunks c
          WHERE c.run = ?1 AND c.stream = e.stream AND c.idx < e.idx AND c.kind NOT IN ('close', 'error') ORDER BY c.idx DESC LIMIT 1)
  FROM (SELECT s.stream, coalesce((SELECT k.idx FROM chunks k WHERE k.run = ?1 AND k.stream = s.stream AND k.segment >= ?2 ORDER BY k.idx LIMIT 1),
                                  9223372036854775807) AS idx
        FROM (SELECT DISTINCT stream FROM chunks WHERE run = ?1) s) e)

-- name: trim_chunks
-- What is before those marks goes, at most ?3 batches. Index chunks_run.
DELETE FROM chunks WHERE rowid IN (
  SELECT g.rowid
  FROM (SELECT s.stream, coalesce((SELECT k.idx FROM chunks k WHERE k.run = ?1 AND k.stream = s.stream AND k.segment >= ?2 ORDER BY k.idx LIMIT 1),
                                  9223372036854775807) AS idx
        FROM (SELECT DISTINCT stream FROM chunks WHERE run = ?1) s) e
  JOIN chunks g ON g.run = ?1 AND g.stream = e.stream AND g.idx < (
    SELECT c.idx FROM chunks c
    WHERE c.run = ?1 AND c.stream = e.stream AND c.idx < e.idx AND c.kind NOT IN ('close', 'error') ORDER BY c.idx DESC LIMIT 1)
  LIMIT ?3)

-- name: list_awaits
-- The steps of a run that wait for the ends of others, and these. Indexes runs_id, awaits_waiter.
SELECT a.step, t.id FROM runs r CROSS JOIN awaits a ON a.waiter = r.key CROSS JOIN runs t ON t.key = a.target WHERE r.ns = 0 AND r.id = ?1

-- name: pauses
-- The commits of a run that may have a pause, or the end of one, the last first. Index log_run.
SELECT seq, n, format, head, body, sum FROM log
WHERE run = ?1 AND (instr(head, '"run_paused"') OR instr(head, '"run_resumed"') OR instr(head, '"cancel_requested"') OR instr(head, '"run_continued"')) ORDER BY seq DESC
